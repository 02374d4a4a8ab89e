"""The results of a tuning: read from the database, then as tables, figures and JSON.

read        the tuning's row with its trials and final runs
findings    the numbers of each contender
document    tables, figures, records
"""
