"""Runs of a plan by an executor or a Dask cluster: batches, retries, progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, as_completed
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from . import _native
from ._native import Gathering, NativePlan, Progress
from ._scheduler import PathScheduler

if TYPE_CHECKING:
    from distributed import Client

StrPath: TypeAlias = "str | os.PathLike[str]"
Schedulers: TypeAlias = "Mapping[str, Callable[[], PathScheduler]]"
# Text, file, size and changes of a plan.
PlanArguments: TypeAlias = tuple[str, str, bool, tuple[str, ...]]

# Work is handed out in this many batches for each worker; for so many workers if their number is unknown.
_BATCHES = 8
_UNKNOWN_WORKERS = 8
# Towards the end, a batch is at most this part of what is left for each worker, but not below this part of its first batches. Then workers
# end at about the same time, with few batches: each takes some milliseconds to hand out.
_PART_OF_REST = 2
_SMALLEST = 16


@dataclass(frozen=True)
class Batch:
    """Runs that are carried out together."""

    name: str
    """Digest of what the results depend on: build, settings, seeds. Equal batches have equal names."""
    indices: list[int]
    """Numbers of the runs in the plan."""


def gather(
    executor: Executor | Client,
    arguments: PlanArguments,
    plan: NativePlan,
    cache: StrPath | None,
    schedulers: Schedulers,
    progress: Callable[[Progress], object] | None,
) -> Gathering:
    """Have all runs carried out that are not in the cache."""
    gathering = Gathering(plan, cache_of(cache), set(schedulers))
    if progress is not None:
        progress(gathering.progress())
    is_dask = type(executor).__module__.partition(".")[0] == "distributed"
    workers: _Dask | _Executor = _Dask(executor) if is_dask else _Executor(executor)
    batches = batches_of(gathering.open(), workers.count(), bool(schedulers))
    text, file, quick, changes = arguments
    # Workers may have another current folder.
    arguments = (text, os.path.abspath(file), quick, changes)
    work = (arguments, None if cache is None else os.path.abspath(cache), dict(schedulers), build())
    for indices, records in workers.run(batches, work):
        gathering.take(indices, records)
        if progress is not None:
            progress(gathering.progress())
    return gathering


def batches_of(runs: Sequence[tuple[int, str, float]], workers: int, is_unique: bool) -> list[Batch]:
    """Divide runs, longest first, into batches of about equal work, which become smaller towards the end.

    Nothing identifies a scheduler that is not in the catalog, so the names of batches with one are unique.
    """
    left = sum(work for _, _, work in runs)
    workers = workers or _UNKNOWN_WORKERS
    share = left / (_BATCHES * workers)
    wanted = share
    batches: list[Batch] = []
    members: list[tuple[int, str]] = []
    filled = 0.0

    def close() -> None:
        text = "\n".join([build(), *(key for _, key in members)])
        name = uuid4().hex if is_unique else sha256(text.encode()).hexdigest()[:32]
        batches.append(Batch(name, [index for index, _ in members]))

    for index, key, work in runs:
        members.append((index, key))
        filled += work
        left -= work
        if filled >= wanted:
            close()
            wanted = max(min(share, left / (_PART_OF_REST * workers)), share / _SMALLEST)
            members, filled = [], 0.0
    if members:
        close()
    return batches


def run_batch(
    arguments: PlanArguments, cache: str | None, schedulers: Schedulers, wanted: str, indices: list[int]
) -> bytes:
    """Run a batch in a worker."""
    if wanted != build():
        raise RuntimeError("this worker has another version of anabranch: install the same wheel on all workers")
    return _native.run_some(_plan_of(arguments), indices, cache_of(cache), schedulers)


@lru_cache(maxsize=4)
def _plan_of(arguments: PlanArguments) -> NativePlan:
    """Read a plan once for all its batches."""
    text, file, quick, changes = arguments
    return NativePlan(file, text, quick, list(changes))


class _Executor:
    """Workers of any executor of `concurrent.futures`."""

    def __init__(self, executor: Any) -> None:
        self._executor: Any = executor

    def count(self) -> int:
        """Return the number of workers; executors do not tell."""
        return 0

    def run(self, batches: list[Batch], work: tuple[Any, ...]) -> Iterator[tuple[list[int], bytes]]:
        """Run batches; yield the indices and records of each as it is done."""
        tasks = {self._executor.submit(run_batch, *work, batch.indices): batch for batch in batches}
        try:
            for task in as_completed(list(tasks)):
                # Records are many; only those that are being taken are kept.
                yield tasks.pop(task).indices, task.result()
        finally:
            for task in tasks:
                task.cancel()


class _Dask:
    """Workers of a Dask cluster.

    Dask itself runs the batches of a lost worker again. If the scheduler is lost, its successor knows nothing of the batches that were
    open, and they are handed out once more. In both cases a worker first looks in the cache.
    """

    def __init__(self, client: Any) -> None:
        self._client: Any = client

    def count(self) -> int:
        """Return the number of threads of all workers that are there."""
        return sum(self._client.nthreads().values())

    def run(self, batches: list[Batch], work: tuple[Any, ...]) -> Iterator[tuple[list[int], bytes]]:
        """Run batches; yield the indices and records of each as it is done."""
        from distributed import Future
        from distributed import as_completed as dask_as_completed

        opened: dict[str, tuple[Future[bytes], int, Batch, int]] = {}
        completed = dask_as_completed(loop=self._client.loop)

        def submit(number: int, batch: Batch, attempt: int) -> None:
            key = f"anabranch-{batch.name}-{attempt}"
            # Handed out in this order, so the longest runs come first.
            future = self._client.submit(run_batch, *work, batch.indices, key=key, priority=-number)
            opened[key] = (future, number, batch, attempt)
            completed.add(future)

        for number, batch in enumerate(batches):
            submit(number, batch, 0)
        try:
            for future in completed:
                _, number, batch, attempt = opened.pop(future.key)
                try:
                    records = future.result()
                except CancelledError:
                    # Only a lost scheduler cancels batches.
                    if self._client.status == "closed":
                        text = "the connection to Dask's scheduler is lost; with cache=, the next call goes on where this one ended"
                        raise RuntimeError(text) from None
                    submit(number, batch, attempt + 1)
                    continue
                future.release()
                yield batch.indices, records
        finally:
            if opened and self._client.status != "closed":
                self._client.cancel([future for future, *_ in opened.values()])


@cache
def build() -> str:
    """Identify this version of the package by the digest of its native module."""
    return _native.build_of(str(_native.__file__))


def cache_of(folder: StrPath | None) -> tuple[str, str] | None:
    """Name a cache with the build whose results it holds."""
    return None if folder is None else (os.fspath(folder), build())
