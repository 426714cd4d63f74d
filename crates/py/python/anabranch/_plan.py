"""A plan: what is compared, varied, measured and checked."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from . import _native
from ._native import NativePlan, Progress, Results
from ._progress import ProgressBar
from ._scheduler import PathScheduler
from ._sweep import StrPath, cache_of, gather

if TYPE_CHECKING:
    from distributed import Client


class Plan:
    """A plan of an experiment, read and validated.

    ``Plan.load`` reads a file, ``Plan.read`` a text. A plan does not change; it can be pickled.

    Attributes
    ----------
    name : str
        File name without extension.
    title, claim, source : str
        Title in one line, the claim to be checked, and where it was published.
    variants : list of str
        Names of the variants of the protocol that are compared.
    axes : dict of str to list of str
        Parameters that are varied, with their values.
    digest : str
        Digest of the plan in this size, without titles and claims.
    """

    def __init__(self, text: str, file: StrPath, quick: bool, changes: tuple[str, ...]) -> None:
        self._arguments = (text, os.fspath(file), quick, changes)
        self._native = NativePlan(os.fspath(file), text, quick, list(changes))

    @classmethod
    def load(
        cls, file: StrPath, *, quick: bool = False, changes: Mapping[str, object] | None = None
    ) -> Plan:
        """Read the plan in a file.

        Parameters
        ----------
        file : path-like
            The TOML file.
        quick : bool
            Read the quick size, if the plan has one: shorter runs, fewer points and seeds.
        changes : mapping of str to object, optional
            Overrides, such as ``{"policies.cc": "lia", "repetitions": 4}``.

        Returns
        -------
        Plan

        Raises
        ------
        PlanError
            The plan is not valid. The message has file, line, and what was expected.
        OSError
            The file cannot be read.
        """
        return cls(Path(file).read_text(encoding="utf-8"), file, quick, _listed(changes))

    @classmethod
    def read(
        cls,
        text: str,
        *,
        name: str = "plan",
        quick: bool = False,
        changes: Mapping[str, object] | None = None,
    ) -> Plan:
        """Read a plan from its text.

        Parameters
        ----------
        text : str
            The plan as TOML.
        name : str
            Name of the plan, for messages and results.
        quick, changes
            As in `load`.

        Returns
        -------
        Plan

        Raises
        ------
        PlanError
            The plan is not valid.
        """
        return cls(text, f"{name}.toml", quick, _listed(changes))

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def title(self) -> str:
        return self._native.title

    @property
    def claim(self) -> str:
        return self._native.claim

    @property
    def source(self) -> str:
        return self._native.source

    @property
    def digest(self) -> str:
        return self._native.digest

    @property
    def variants(self) -> list[str]:
        return self._native.variants

    @property
    def axes(self) -> dict[str, list[str]]:
        return dict(self._native.axes)

    def __len__(self) -> int:
        """Return the number of runs: variants and references × values × seeds."""
        return len(self._native.works)

    def __repr__(self) -> str:
        return f"<anabranch.Plan {self.name}: {len(self)} runs>"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._arguments

    def run(
        self,
        *,
        jobs: int | None = None,
        executor: Executor | Client | None = None,
        cache: StrPath | None = None,
        captures: StrPath | None = None,
        schedulers: Mapping[str, Callable[[], PathScheduler]] | None = None,
        progress: Callable[[Progress], object] | bool | None = None,
    ) -> Results:
        """Run the plan.

        The interpreter's lock is released meanwhile. Ctrl-C ends the runs within moments and raises `KeyboardInterrupt`. The same
        plan and version give the same results, byte for byte, with any number of jobs.

        The stop rule ``[repeat]`` of a plan is not followed: each cell gets the least number of repetitions, and a `UserWarning` says so.

        Parameters
        ----------
        jobs : int, optional
            Number of threads; one for each core unless given.
        executor : concurrent.futures.Executor or distributed.Client, optional
            Runs the plan instead of this process' threads: a ``ProcessPoolExecutor``, or the client of a Dask cluster. A task is some runs,
            about one 64th of the work, or one eighth of a worker's share on a cluster, or less, and uses one core. Workers of another version of
            this package are refused. Files that the plan names must be found by the workers. On a Dask cluster, lost workers and a restarted
            scheduler change nothing.
        cache : path-like, optional
            Folder in which each finished run is stored and found again by the same version of this package. Workers store runs there, too,
            as soon as they are done. Nothing is stored unless given.
        captures : path-like, optional
            Folder for a packet capture of each run, which `read_capture` reads. All runs are carried out, cached ones too.
        schedulers : mapping of str to callable, optional
            Path schedulers written in Python, by the names of the variants that use them instead of the plan's: classes, or other
            functions without arguments, called for each end of each association. Their runs are neither read from the cache nor stored
            in it, and hold the interpreter's lock whenever a scheduler is asked. With `executor`, they must be picklable.
        progress : callable or bool, optional
            Is called with a `Progress` at most ten times a second, or after each task of an executor. An exception that it raises ends the
            runs. ``True`` shows a `ProgressBar`.

        Returns
        -------
        Results

        Raises
        ------
        OSError
            The cache cannot be written.
        ValueError
            `jobs` or `captures` is given with `executor`, or `schedulers` names no variant, or a scheduler returns no path, or an executor is to
            run a plan on a test bed.
        Exception
            Whatever a scheduler or `progress` raises.
        RuntimeError
            A worker of `executor` has another version of this package, or the connection to Dask's scheduler is lost.
        """
        if (most := self._native.at_most) is not None:
            warnings.warn(
                f"[repeat] of {self.name} is not followed: each cell is run with its least number of repetitions, not up to {most}; "
                "`anabranch lab run` follows it",
                stacklevel=2,
            )
        own = dict(schedulers or {})
        if unknown := own.keys() - set(self.variants):
            raise ValueError(f"schedulers= names {sorted(unknown)}; the plan has the variants {self.variants}")
        bar = ProgressBar() if progress is True else None
        report = bar if isinstance(progress, bool) else progress
        try:
            if executor is not None:
                if jobs is not None:
                    raise ValueError("jobs= is the number of threads here; give the executor its number of workers instead")
                if captures is not None:
                    raise ValueError("captures= needs runs in this process: leave out executor=")
                return gather(executor, self._arguments, self._native, cache, own, report).results()
            folders = (cache_of(cache), None if captures is None else os.fspath(captures))
            return _native.run_all(self._native, jobs, folders, own, report)
        finally:
            if bar is not None:
                bar.close()


def _listed(changes: Mapping[str, object] | None) -> tuple[str, ...]:
    """Overrides as ``key=value``, with booleans as TOML writes them."""

    def text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return tuple(f"{key}={text(value)}" for key, value in (changes or {}).items())

