"""The statuses of a run.  Imports nothing, so that the command line can name them without loading SQLAlchemy."""

STATUSES = ("running", "finished", "failed", "diverged", "interrupted")
WITH_RESULT = ("finished", "diverged")  # a run that diverged would diverge again: that is its result
NIGHT_STATUSES = ("running", "finished", "incomplete", "killed")  # incomplete: cells failed, or the budget was over
