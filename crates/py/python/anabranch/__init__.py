"""Multipath SCTP: experiments in the simulator, sockets for asyncio, captures.

A plan describes networks, the variants to compare, the parameters to vary and the claims to check.

>>> import anabranch as ab
>>> plan = ab.Plan.load("experiments/sar-1.toml", quick=True)
>>> results = plan.run()
>>> results.verdict  # one run of each point has no confidence interval
'undecided'

Tables of results implement Arrow's PyCapsule interface: ``polars.DataFrame(results.runs)``, ``pyarrow.table(results.runs)`` and
``pandas.DataFrame.from_arrow(results.runs)`` read them without copying columns.

`connect` and `listen` open associations with other hosts for asyncio; `read_capture` reads what was sent on the wire.
"""

from ._native import (
    Backlog,
    Conversation,
    Figure,
    Finding,
    Message,
    PathFacts,
    PathStatus,
    PlanError,
    Progress,
    Results,
    Table,
    generate_key,
    public_key,
    read_capture,
)
from ._plan import Plan
from ._progress import ProgressBar
from ._scheduler import PathScheduler
from ._socket import EVERYONE, Association, Everyone, Listener, Opening, connect, listen

__all__ = [
    "EVERYONE",
    "Association",
    "Backlog",
    "Conversation",
    "Everyone",
    "Figure",
    "Finding",
    "Listener",
    "Message",
    "Opening",
    "PathFacts",
    "PathScheduler",
    "PathStatus",
    "Plan",
    "PlanError",
    "Progress",
    "ProgressBar",
    "Results",
    "Table",
    "connect",
    "generate_key",
    "listen",
    "public_key",
    "read_capture",
]
