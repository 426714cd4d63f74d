#!/usr/bin/env python3
"""Measures what the Python package adds to the simulator: `make bench-python`.

    python.py [sweep] [rows]

`sweep` runs one plan by threads of this process, which is the runner of the program, and by workers of a Dask cluster, and compares times and
bytes. `rows` has a plan record ten million rows and reads them into polars.
"""

import argparse
import json
import os
import sys
import tempfile
import time
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

REPEATS = 3


def contents(results):
    with tempfile.TemporaryDirectory() as folder:
        results.write(folder)
        return {file.name: file.read_bytes() for file in sorted(Path(folder).glob("*.parquet"))}


def timed(work):
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def sweep():
    """Times of one plan by threads and by a cluster; the best of several, taken in turn."""
    from distributed import Client, LocalCluster

    cores = len(os.sched_getaffinity(0))
    plan = ab.Plan.read(SWEEP.replace("MEASURE", "10s"))
    found, times = {}, {}
    one = dict(threads_per_worker=1, dashboard_address=":0", processes=True)
    # Workers without a task cost nothing, and both clusters are there all the time.
    with (
        LocalCluster(n_workers=1, **one) as small,
        LocalCluster(n_workers=2, **one) as large,
        Client(small, set_as_default=False) as alone,
        Client(large, set_as_default=False) as pair,
    ):
        ways = {
            "1 thread": dict(jobs=1),
            "1 worker": dict(executor=alone),
            "2 threads": dict(jobs=2),
            "2 workers": dict(executor=pair),
        }
        for client in (alone, pair):
            ab.Plan.read(SWEEP.replace("MEASURE", "100ms")).run(executor=client)
        for _ in range(REPEATS):
            for name, way in ways.items():
                taken, results = timed(lambda: plan.run(**way))
                times.setdefault(name, []).append(taken)
                found[name] = contents(results)
    best = {name: min(taken) for name, taken in times.items()}
    return {
        "cores": cores,
        "runs": len(plan),
        "seconds": {name: [round(it, 2) for it in taken] for name, taken in times.items()},
        "same bytes": all(files == found["1 thread"] for files in found.values()),
        "efficiency of 2 workers": round(best["1 worker"] / (2 * best["2 workers"]), 3),
        "efficiency of 2 threads": round(best["1 thread"] / (2 * best["2 threads"]), 3),
        "1 worker over 1 thread": round(best["1 worker"] / best["1 thread"] - 1, 3),
        "2 workers over 2 threads": round(best["2 workers"] / best["2 threads"] - 1, 3),
    }


def rows():
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
    for what in parser.parse_args().what:
        measured = {"sweep": sweep, "rows": rows}[what]()
        print(json.dumps({what: measured}, indent=2), flush=True)
    return 0


# Workers import this file.
if __name__ == "__main__":
    sys.exit(main())
