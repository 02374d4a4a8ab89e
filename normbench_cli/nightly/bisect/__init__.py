"""Find the commit that changed a measurement: what `normbench nightly bisect` does.

Every commit is measured with its own code, in its own process (`worker`, `measure_one`), from a copy of its files in a
temporary folder (`git`).  Interleaved measurements of the two ends go on until it is certain that they differ
(`decide`).  Then a binary search over the history between them (`search`) halves the candidate commits: a commit in the
middle is measured interleaved with both ends, until it is certain which of them it is nearer to.  `run` puts these
together.
"""

from normbench_cli.nightly.bisect.plan import plan_bisect, run_bisect

__all__ = ["plan_bisect", "run_bisect"]
