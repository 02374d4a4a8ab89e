"""Experiments as settings: each with one value or several, crossed or advancing together.

A command line, an experiment file and a Python call say the same in the same words, and come to the same
configurations in the same order.

    ranges.py            1.1..1.9/5 and log:0.01..1/7 -> numbers
    values.py            what was written for one setting -> its values
    experiment.py        Experiment: settings with their values; its cells and configurations
    experiment_file.py   an experiment read from TOML
    recipe_file.py       a recipe of the user's own, read from TOML
    saving.py            an experiment written as TOML

Standard library only; anyone may import it.
"""
