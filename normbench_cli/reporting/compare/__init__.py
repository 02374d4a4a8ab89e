"""`normbench compare`: two sides, each a run or the runs that a filter selects.

`sides` finds the runs, `settings` what differs between them, `metrics` what they measured with a paired test, `figures`
their curves and the ratios of profiles; `comparison` combines these and `render` turns them into a document and JSON.
"""

from __future__ import annotations

from normbench_cli.reporting.compare.comparison import CompareQuery, TwoSides, compare
from normbench_cli.reporting.compare.render import to_document, to_json

__all__ = ["CompareQuery", "TwoSides", "compare", "to_document", "to_json"]
