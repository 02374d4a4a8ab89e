"""The command line: one file per command, which parses, makes one call and prints."""
