"""Path schedulers written in Python."""

from concurrent.futures import ProcessPoolExecutor

import anabranch as ab
import pyarrow
import pytest

PLAN = """
title = "Two unlike paths"
claim = "The scheduler matters."
repetitions = 2

[time]
warm-up = "200ms"
measure = "1s"

[paths.north]
rate = "10Mbit"
delay = "10ms"

[paths.south]
rate = "20Mbit"
delay = "40ms"
loss = { random = "0.1%" }

[apps.sender]
kind = "bulk"
message = 1400

[[variant]]
name = "catalog"
policies.path-scheduler = "min-rtt"

[[variant]]
name = "own"
policies.path-scheduler = "min-rtt"
"""


class MinRtt:
    """The catalog's ``min-rtt``: the path with the smallest round-trip time; one without a sample comes first."""

    def pick(self, paths, backlog, now):
        ready = [path for path in paths if path.can_take_data]
        return min(ready, key=lambda path: (-1 if path.srtt is None else path.srtt, path.id)).id if ready else None


class OnlyFirst:
    """Never uses the second path."""

    def pick(self, paths, backlog, now):
        return 0 if paths[0].can_take_data else None


class Counting(MinRtt):
    """Counts what was sent in a list of the class."""

    sent = []

    def on_sent(self, path, size, now):
        self.sent.append((path, size, now))


class Broken:
    def pick(self, paths, backlog, now):
        raise RuntimeError("out of ideas")


class Elsewhere:
    def pick(self, paths, backlog, now):
        return 7


@pytest.fixture(scope="module")
def plan():
    return ab.Plan.read(PLAN)


def files(results, folder):
    results.write(folder)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_scheduler_in_python_gives_the_bytes_of_its_rust_twin(plan, tmp_path):
    in_rust = files(plan.run(), tmp_path / "rust")
    in_python = files(plan.run(schedulers={"own": MinRtt}), tmp_path / "python")
    assert in_rust == in_python


def test_scheduler_decides(plan):
    results = plan.run(schedulers={"own": OnlyFirst})
    rows = pyarrow.table(results.runs).to_pylist()
    assert all(row["path.south.throughput"] == 0 for row in rows if row["series"] == "own"), rows
    assert all(row["path.south.throughput"] > 0 for row in rows if row["series"] == "catalog"), rows


def test_scheduler_is_told_what_was_sent(plan):
    Counting.sent.clear()
    plan.run(jobs=1, schedulers={"own": Counting})
    paths, sizes, times = zip(*Counting.sent)
    assert set(paths) == {0, 1} and min(sizes) > 0
    assert max(times) > 1_000_000_000


def test_workers_use_the_scheduler(plan, tmp_path):
    with ProcessPoolExecutor(2) as executor:
        pooled = files(plan.run(executor=executor, schedulers={"own": OnlyFirst}), tmp_path / "pool")
    alone = files(plan.run(schedulers={"own": OnlyFirst}), tmp_path / "alone")
    assert pooled == alone


def test_runs_with_own_schedulers_are_not_cached(plan, tmp_path):
    plan.run(cache=tmp_path / "cache", schedulers={"own": OnlyFirst})
    first = files(plan.run(cache=tmp_path / "cache"), tmp_path / "first")
    fresh = files(plan.run(), tmp_path / "fresh")
    assert first == fresh


@pytest.mark.parametrize(
    ("scheduler", "error", "text"),
    [(Broken, RuntimeError, "out of ideas"), (Elsewhere, ValueError, "7"), (object, AttributeError, "pick")],
)
def test_what_a_scheduler_raises_ends_the_run(plan, scheduler, error, text):
    with pytest.raises(error, match=text):
        plan.run(schedulers={"own": scheduler})


def test_unknown_variant_is_refused(plan):
    with pytest.raises(ValueError, match="variants"):
        plan.run(schedulers={"mine": MinRtt})


def test_schedulers_are_for_sctp_only():
    results = ab.Plan.read(PLAN, changes={"transport": "mptcp"}).run(schedulers={"own": MinRtt})
    failed = [(series, error) for series, _, error in results.failures]
    assert failed == [("own", "own policies work with SCTP in the simulator only")] * 2
