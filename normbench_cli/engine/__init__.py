"""Training and evaluation: torch only, never the database; it yields records and prints nothing."""
