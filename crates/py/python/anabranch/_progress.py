"""Progress bars in terminals and notebooks."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from time import monotonic
from typing import Any

from ._native import Progress


class ProgressBar:
    """Show the progress of runs with the time that is left, as ``plan.run(progress=True)`` does.

    In a terminal or a notebook that has tqdm it is a bar, otherwise a line each ten seconds on standard error. The time left is estimated from the
    simulated bits that are done.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._began = monotonic()
        self._last = self._began

    def __call__(self, progress: Progress) -> None:
        """Show the progress."""
        runs = f"{progress.done} of {progress.all} runs"
        if progress.cached:
            runs += f", {progress.cached} in the cache"
        if self._bar is None:
            self._bar = _tqdm(progress.work)
        if self._bar:
            self._bar.set_postfix_str(runs, refresh=False)
            self._bar.update(progress.work_done - self._bar.n)
            self._bar.refresh()
        elif monotonic() - self._last >= 10:
            self._last = monotonic()
            print(f"anabranch: {runs}{self._left(progress)}", file=sys.stderr, flush=True)

    def _left(self, progress: Progress) -> str:
        if not progress.work_done:
            return ""
        left = (self._last - self._began) * (progress.work / progress.work_done - 1)
        return f", {left:.0f} s left"

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar:
            self._bar.close()


def _tqdm(work: float) -> Any:
    """Make a bar, if there is tqdm and somebody who sees it."""
    is_notebook = "ipykernel" in sys.modules
    if not (is_notebook or sys.stderr.isatty()):
        return False
    try:
        # Without widgets, a notebook shows the bar of terminals.
        if is_notebook and find_spec("ipywidgets"):
            from tqdm.notebook import tqdm
        else:
            from tqdm.std import tqdm
    except ImportError:
        return False
    return tqdm(total=work, bar_format="{percentage:3.0f}%|{bar}| {postfix} [{elapsed}<{remaining}]")
