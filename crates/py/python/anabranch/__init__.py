"""Experiments with multipath SCTP in the simulator.

A plan describes networks, the variants to compare, the parameters to vary and the claims to check.

>>> import anabranch as ab
>>> plan = ab.Plan.load("experiments/sar-1.toml", quick=True)
>>> results = plan.run()
>>> results.verdict  # one run of each point has no confidence interval
'undecided'

Tables of results implement Arrow's PyCapsule interface: ``polars.DataFrame(results.runs)``, ``pyarrow.table(results.runs)`` and
``pandas.DataFrame.from_arrow(results.runs)`` read them without copying columns.
"""

from ._native import Backlog, Finding, PathFacts, PlanError, Progress, Results, Table
from ._plan import Plan
from ._progress import ProgressBar
from ._scheduler import PathScheduler

__all__ = [
    "Backlog",
    "Finding",
    "PathFacts",
    "PathScheduler",
    "Plan",
    "PlanError",
    "Progress",
    "ProgressBar",
    "Results",
    "Table",
]
