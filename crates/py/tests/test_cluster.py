"""Plans on a Dask cluster: the same bytes as threads, also if workers and the scheduler are lost."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anabranch as ab
import pytest
from distributed import Client, LocalCluster

PLAN = """
title = "Two paths"
claim = "Two paths are faster than one."
repetitions = 16

[time]
warm-up = "500ms"
measure = "MEASURE"

[paths.a]
rate = "10Mbit"
delay = "10ms"

[paths.b]
rate = "10Mbit"
delay = "30ms"

[apps.sender]
kind = "bulk"
message = 1400

[sweep.rate]
sets = "paths.b.rate"
values = [5, 20]
unit = "Mbit"

[[variant]]
name = "blest"
policies.path-scheduler = "blest"

[[variant]]
name = "round-robin"
policies.path-scheduler = "round-robin"
"""


def plan_of(seconds):
    return PLAN.replace("MEASURE", f"{seconds}s")


def files(results, folder):
    results.write(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@contextmanager
def dask(*arguments):
    """A process of Dask's, killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def scheduler_at(port):
    return dask("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show")


def worker_of(port):
    options = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1"]
    return dask("dask_worker", f"tcp://127.0.0.1:{port}", *options)


def stored(cache):
    """Each stored run, with what changes when it is stored again."""
    return {file: file.stat().st_mtime_ns for file in cache.rglob("*.json")}


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_cluster_gives_the_same_bytes(workers, tmp_path):
    plan = ab.Plan.read(plan_of(1), changes={"repetitions": 4})
    reports = []
    settings = dict(n_workers=workers, threads_per_worker=1, dashboard_address=None, processes=True)
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        spread = plan.run(executor=client, cache=tmp_path / "cache", progress=reports.append)
        again = plan.run(executor=client, cache=tmp_path / "cache")
    assert (reports[-1].done, reports[-1].all, reports[0].cached) == (16, 16, 0)
    assert files(spread, tmp_path / "spread") == files(again, tmp_path / "again")
    assert files(spread, tmp_path / "spread") == files(plan.run(), tmp_path / "threads")


def test_lost_worker_and_restarted_scheduler_change_nothing(tmp_path):
    plan = ab.Plan.read(plan_of(10))
    cache, port = tmp_path / "cache", free_port()
    before = {}
    with ExitStack() as running:
        start = running.enter_context
        scheduler = start(scheduler_at(port))
        workers = [start(worker_of(port)) for _ in range(2)]
        client = start(Client(f"tcp://127.0.0.1:{port}", timeout=60, set_as_default=False))
        client.wait_for_workers(2)
        steps = iter([16, 40])
        due = next(steps)

        def disturb(progress):
            nonlocal due, scheduler
            if due is None or progress.done < due:
                return
            if due == 16:
                workers[0].send_signal(signal.SIGKILL)
            else:
                scheduler.kill()
                scheduler.wait()
                before.update(stored(cache))
                scheduler = start(scheduler_at(port))
                workers.extend(start(worker_of(port)) for _ in range(2))
            due = next(steps, None)

        results = plan.run(executor=client, cache=cache, progress=disturb)
    assert due is None and 40 <= len(before) < len(plan)
    after = stored(cache)
    assert len(after) == len(plan)
    assert {file: after[file] for file in before} == before, "a stored run was run again"
    assert files(results, tmp_path / "spread") == files(plan.run(), tmp_path / "threads")


def test_worker_of_another_version_is_refused(tmp_path):
    plan = ab.Plan.read(plan_of(1))
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:

        def pretend():
            from anabranch import _sweep

            _sweep.build = lambda: "another"

        client.run(pretend)
        with pytest.raises(RuntimeError, match="install the same wheel"):
            plan.run(executor=client)


def test_batches_have_about_equal_work_and_names_of_what_they_depend_on():
    from anabranch._sweep import batches_of

    runs = [(index, f"key {index}", float(1000 - index)) for index in range(1000)]
    batches = batches_of(runs, 0, False)
    assert sorted(index for batch in batches for index in batch.indices) == list(range(1000))
    works = [sum(runs[index][2] for index in batch.indices) for batch in batches]
    share = sum(works) / 64
    assert max(works) < share * 1.2 and min(works[:32]) > share * 0.8, "equal at first"
    assert max(works[-8:]) < share * 0.2, "small at the end"
    assert 64 <= len(batches) < 110 and 16 <= len(batches_of(runs, 2, False)) < 30
    assert batches == batches_of(runs, 0, False)
    assert batches != batches_of(runs, 0, True)
    assert len(batches_of(runs, 20, False)) > 160
    assert [batch.indices for batch in batches_of(runs[:3], 0, False)] == [[0], [1], [2]]


def test_plan_on_a_test_bed_is_refused():
    plan = ab.Plan.read(plan_of(1), changes={"backend": "testbed"})
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        with pytest.raises(ValueError, match="test bed"):
            plan.run(executor=client)


def test_program_runs_a_plan_on_a_cluster(tmp_path):
    source = tmp_path / "two.toml"
    source.write_text(plan_of(1))
    program = os.environ["ANABRANCH_PROGRAM"]

    def run(name, *options):
        command = [program, "lab", "run", "two.toml", "--set", "repetitions=4", "--cache", name, "--out", f"{name}-out"]
        environment = {**os.environ, "ANABRANCH_PYTHON": sys.executable}
        done = subprocess.run([*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done, {file.name: file.read_bytes() for file in sorted((tmp_path / f"{name}-out").glob("*"))}

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        spread, ours = run("cluster", "--on", address, "--json")
    assert spread.returncode == 0, spread.stderr
    assert '"done":16' in spread.stdout
    alone, theirs = run("threads", "--quiet")
    assert alone.returncode == 0, alone.stderr
    assert ours == theirs and "runs.parquet" in ours
    refused, _ = run("refused", "--on", "ray://127.0.0.1:1")
    assert refused.returncode == 2 and "dask://HOST:PORT" in refused.stderr
