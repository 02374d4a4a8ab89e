"""The nightly benchmark: a suite of cells measured every night, its history, and the gate that finds regressions.

A *night* runs the cells of a nightly suite and records what they measured.  The *gate* compares each measurement with
its own history, within one class of hardware, versions and settings.  What leaves its band is measured again at once,
and only what is confirmed is called a regression.
"""
