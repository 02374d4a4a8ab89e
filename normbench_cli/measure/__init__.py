"""Measuring: time, memory, solver iterations, the machine itself.  Torch only, never the database."""
