"""Experiments as settings with one or several values each, crossed into a grid or zipped.

A command line, an experiment file and a Python call use the same names and values, and expand to the same
configurations in the same order.

    ranges.py            1.1..1.9/5 and log:0.01..1/7 -> numbers
    values.py            the input for one setting -> its values
    experiment.py        Experiment: settings with their values; its cells and configurations
    experiment_file.py   an experiment read from TOML
    recipe_file.py       a user's recipe, read from TOML
    saving.py            an experiment written as TOML

Standard library only; any module may import it.
"""
