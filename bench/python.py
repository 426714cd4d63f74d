#!/usr/bin/env python3
"""Measures what the Python package adds to the simulator: `make bench-python`.

    python.py [sweep] [rows] [--repeats N] [--without WAY]

`sweep` runs one plan by threads of this process, which is the runner of the program, and by workers of Dask clusters, and compares times and
bytes. `rows` has a plan record ten million rows and reads them into polars.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import anabranch as ab

SWEEP = """
title = "Two paths"
claim = "none"
repetitions = 60

[time]
warm-up = "1s"
measure = "MEASURE"

[paths.a]
rate = "50Mbit"
delay = "10ms"
loss = { random = "0.1%" }

[paths.b]
rate = "20Mbit"
delay = "30ms"

[apps.sender]
kind = "bulk"
message = 1400

[[variant]]
name = "blest"
policies.path-scheduler = "blest"

[[variant]]
name = "round-robin"
policies.path-scheduler = "round-robin"
"""

ROWS = """
title = "Ten million rows"
claim = "none"
repetitions = 8

[time]
warm-up = "0s"
measure = "626s"

[paths.a]
rate = "100kbit"
delay = "10ms"

[paths.b]
rate = "100kbit"
delay = "30ms"

[apps.sender]
kind = "bulk"
message = 1400

[record]
time-series = "1ms"
columns = ["cwnd", "flight", "srtt", "link-queue"]

[[variant]]
name = "base"
"""

# What Dask does beside the tasks: samples of where workers are, of the delay of event loops and of the load, and the search for tasks to
# steal. Here it takes time from the same cores.
MONITORS_OFF = {
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.monitor-interval": "10s",
    "distributed.worker.profile.enabled": False,
}


def contents(results):
    with tempfile.TemporaryDirectory() as folder:
        results.write(folder)
        return {file.name: file.read_bytes() for file in sorted(Path(folder).glob("*.parquet"))}


def timed(work):
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def processor_time():
    """Seconds that this process and its workers have computed. Other programs on the machine do not change them, only the time."""
    import psutil

    this = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (this, *this.children(recursive=True)))


def fully_timed(work):
    began = processor_time()
    taken, result = timed(work)
    return taken, processor_time() - began, result


def by_threads(plan, threads):
    return fully_timed(lambda: plan.run(jobs=threads))


def by_processes(plan):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        ab.Plan.read(SWEEP.replace("MEASURE", "100ms")).run(executor=executor)
        return fully_timed(lambda: plan.run(executor=executor))


def by_workers(plan, workers, settings):
    """Runs a plan on a cluster that is there for it alone: clusters without tasks take a few percent of a core, too."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(settings),
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        # Workers have loaded the package before.
        ab.Plan.read(SWEEP.replace("MEASURE", "100ms")).run(executor=client)
        return fully_timed(lambda: plan.run(executor=client))


def sweep(repeats, without):
    """Times of one plan by threads and by clusters; the best of several, taken in turn."""
    # So many that batches take more than a second.
    plan = ab.Plan.read(SWEEP.replace("MEASURE", "20s"), changes={"repetitions": 136})
    ways = {
        "2 threads": lambda: by_threads(plan, 2),
        "2 workers": lambda: by_workers(plan, 2, {}),
        "2 workers, monitors off": lambda: by_workers(plan, 2, MONITORS_OFF),
        "2 processes": lambda: by_processes(plan),
        "1 worker": lambda: by_workers(plan, 1, {}),
    }
    ways = {name: way for name, way in ways.items() if name not in without}
    found, times, computed = {}, {}, {}
    for _ in range(repeats):
        for name, way in ways.items():
            taken, processor, results = way()
            print(f"{name}: {taken:.2f} s, {processor:.2f} s of processor time", file=sys.stderr, flush=True)
            times.setdefault(name, []).append(taken)
            computed.setdefault(name, []).append(processor)
            found[name] = contents(results)
    best = {name: min(taken) for name, taken in times.items()}
    least = {name: min(taken) for name, taken in computed.items()}

    def compared(name):
        return {
            "efficiency": round(best["1 worker"] / (2 * best[name]), 3),
            "over 2 threads": round(best[name] / best["2 threads"] - 1, 3),
            "processor time over 2 threads": round(least[name] / least["2 threads"] - 1, 3),
        }

    return {
        "cores": len(os.sched_getaffinity(0)),
        "runs": len(plan),
        "seconds": {name: [round(it, 2) for it in taken] for name, taken in times.items()},
        "same bytes": all(files == found["2 threads"] for files in found.values()),
        **{name: compared(name) for name in ways if name != "1 worker"},
    }


def rows(*_):
    """Time to read ten million rows of results, which are in Arrow's memory, into polars."""
    import polars

    table = ab.Plan.read(ROWS).run().time_series
    times = []
    for _ in range(5):
        taken, frame = timed(lambda: polars.DataFrame(table))
        times.append(taken)
    # The frame can be used.
    taken, means = timed(lambda: frame.group_by("path").agg(polars.col("cwnd").mean()))
    return {
        "rows": len(table),
        "columns": len(table.column_names),
        "milliseconds to polars": [round(1000 * it, 2) for it in times],
        "milliseconds to group them": round(1000 * taken, 1),
        "groups": len(means),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["sweep", "rows"], help="sweep, rows")
    parser.add_argument("--repeats", type=int, default=3, help="how often each way is timed [3]")
    parser.add_argument("--without", action="append", default=[], metavar="WAY", help="leave out a way, such as '2 processes'")
    arguments = parser.parse_args()
    for what in arguments.what:
        measured = {"sweep": sweep, "rows": rows}[what](arguments.repeats, arguments.without)
        print(json.dumps({what: measured}, indent=2), flush=True)
    return 0


# Workers import this file.
if __name__ == "__main__":
    sys.exit(main())
