"""crossval."""
