"""From recorded runs to tables.  Never imports torch."""
