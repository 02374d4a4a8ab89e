"""The use cases: train, evaluate, profile, dry run.  Commands and Python callers share them."""
