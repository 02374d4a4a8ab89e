"""The statuses of a run.  Imports nothing, so that the command line can name them without loading SQLAlchemy."""

STATUSES = ("running", "finished", "failed", "diverged", "interrupted")
WITH_RESULT = ("finished", "diverged")  # diverging is a result, because the run would diverge again
NIGHT_STATUSES = ("running", "finished", "incomplete", "killed")  # incomplete: cells failed, or the time budget ran out
