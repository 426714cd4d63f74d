"""Plans, runs and results of the installed wheel."""

import os
import pickle
import re
import signal
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import anabranch as ab
import pandas
import pyarrow
import pytest

ROOT = Path(__file__).resolve().parents[3]

PLAN = """
title = "Two paths"
claim = "Two paths are faster than one."
source = "our own example"
repetitions = 2

[time]
warm-up = "500ms"
measure = "1s"

[paths.a]
rate = "10Mbit"
delay = "10ms"

[paths.b]
rate = "10Mbit"
delay = "30ms"

[apps.sender]
kind = "bulk"
message = 1400

[record]
time-series = "100ms"
histograms = true

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

[figure]
y = "goodput"
x = "rate"

[[check]]
claim = "At least 9 Mbit/s."
kind = "value"
x = [5, 20]
series = "blest"
at-least = 9
"""

# Changing runs long enough that they are under way when they are to be stopped.
LONG = {"time.measure": "100000s"}


@pytest.fixture(scope="module")
def plan():
    return ab.Plan.read(PLAN, name="two")


@pytest.fixture(scope="module")
def results(plan):
    return plan.run()


def files(results, folder):
    results.write(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_plan_shows_what_it_compares(plan):
    assert (plan.name, plan.title, plan.variants) == ("two", "Two paths", ["blest", "round-robin"])
    assert plan.axes == {"rate": ["5", "20"]}
    assert len(plan) == 2 * 2 * 2
    assert len(ab.Plan.read(PLAN, changes={"repetitions": 3})) == 12
    assert pickle.loads(pickle.dumps(plan)).digest == plan.digest


def test_error_of_a_plan_says_where_and_what():
    with pytest.raises(ab.PlanError, match=r"two.toml:\d+.*did you mean `goodput`"):
        ab.Plan.read(PLAN.replace('y = "goodput"', 'y = "goodputt"'), name="two")
    with pytest.raises(ab.PlanError, match="unknown policy `path-schedulers`, did you mean"):
        ab.Plan.read(PLAN, changes={"policies.path-schedulers": "blest"})
    with pytest.raises(FileNotFoundError):
        ab.Plan.load("missing.toml")


def test_stop_rule_is_not_followed_and_a_warning_says_so():
    rule = '[repeat]\nat-most = 8\nhalf-width = "0.1%"\n\n[time]'
    plan = ab.Plan.read(PLAN.replace("[time]", rule), name="two")
    with pytest.warns(UserWarning, match=r"\[repeat\] of two .*not up to 8") as warned:
        results = plan.run(progress=False)
    assert warned[0].filename == __file__
    assert pyarrow.table(results.runs).num_rows == len(plan)


def test_tables_are_read_by_pyarrow_polars_and_pandas(results):
    table = pyarrow.table(results.runs)
    assert (table.num_rows, table.num_columns) == (8, len(results.runs.column_names))
    # Interpreters without a global lock have no wheel of it.
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(results.runs)
    assert frame["goodput"].to_list() == table["goodput"].to_pylist()
    # Python 3.10 has no pandas 3, and pandas 2 reads tables of pyarrow only.
    has_reader = hasattr(pandas.DataFrame, "from_arrow")
    framed = pandas.DataFrame.from_arrow(results.runs) if has_reader else table.to_pandas()
    assert framed["seed"].tolist() == frame["seed"].to_list()
    assert len(results.time_series) > 0 and len(results.histograms) > 0 and len(results.summary) > 0


def test_arrow_memory_is_shared_and_outlives_the_table(plan):
    table = plan.run().runs
    ours, theirs = pyarrow.table(table), pyarrow.table(table)
    address = [it["goodput"].chunk(0).buffers()[1].address for it in (ours, theirs)]
    assert address[0] == address[1]
    values = ours["goodput"].to_pylist()
    del table, theirs
    assert ours["goodput"].to_pylist() == values


def test_findings_and_verdict(results):
    [finding] = results.findings
    assert finding.verdict == results.verdict == "reproduced"
    assert (finding.claim, finding.passed, finding.total) == ("At least 9 Mbit/s.", 2, 2)
    assert results.failures == []


def test_notebooks_show_figures(results):
    [figure] = results.figures
    assert figure.svg.startswith("<svg") and "goodput" in figure.svg
    # Notebooks call these.
    assert figure._repr_svg_() == figure.svg
    page = results._repr_html_()
    assert page.startswith("<pre>&lt;anabranch.Results of two: 8 runs") and figure.svg in page


def test_files_equal_those_of_the_program(results, tmp_path):
    source = tmp_path / "two.toml"
    source.write_text(PLAN)
    program = os.environ["ANABRANCH_PROGRAM"]
    out = tmp_path / "program"
    run = [program, "lab", "run", str(source), "--quiet", "--cache", str(tmp_path / "cache"), "--out", str(out)]
    subprocess.run(run, check=True)
    ours = files(results, tmp_path / "python")
    assert {"runs.parquet", "summary.parquet", "time-series.parquet", "histograms.parquet"} <= set(ours)
    for name, contents in ours.items():
        assert (out / name).read_bytes() == contents, name


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_process_pool_gives_the_same_bytes(plan, results, tmp_path, workers):
    reports = []
    with ProcessPoolExecutor(workers) as executor:
        pooled = plan.run(executor=executor, progress=reports.append)
    assert files(pooled, tmp_path / "pool") == files(results, tmp_path / "threads")
    assert (reports[-1].done, reports[-1].all) == (8, 8)


def test_worker_of_another_version_is_refused(plan):
    from anabranch import _sweep

    with pytest.raises(RuntimeError, match="install the same wheel"):
        _sweep.run_batch(plan._arguments, None, {}, "another", [0])


def test_second_run_is_found_in_the_cache(plan, results, tmp_path):
    reports = []
    first = plan.run(cache=tmp_path / "cache", progress=reports.append)
    assert reports[-1].cached == 0
    second = plan.run(cache=tmp_path / "cache", progress=reports.append)
    assert (reports[-1].done, reports[-1].cached) == (8, 8)
    assert files(first, tmp_path / "first") == files(second, tmp_path / "second") == files(results, tmp_path / "all")


def test_ctrl_c_ends_the_runs():
    long = ab.Plan.read(PLAN, changes=LONG)

    def interrupt(progress):
        # Progress is reported after the runs have begun.
        threading.Thread(target=signal.raise_signal, args=[signal.SIGINT]).start()

    with pytest.raises(KeyboardInterrupt):
        long.run(progress=interrupt)


def test_exception_of_the_progress_function_ends_the_runs():
    def fail(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ab.Plan.read(PLAN, changes=LONG).run(progress=fail)


def test_example_of_the_readme(monkeypatch):
    _, _, rest = (ROOT / "README.md").read_text().partition("<!-- python: a test runs this -->\n```python\n")
    code, _, _ = rest.partition("```")
    assert code
    pytest.importorskip("polars")
    monkeypatch.chdir(ROOT)
    scope = {}
    exec(code, scope)
    assert scope["results"].failures == [] and scope["results"].verdict == "undecided", "one run of each point"


def test_public_items_have_docstrings():
    for name in ab.__all__:
        item = getattr(ab, name)
        assert item.__doc__, name
        members = [member for key, member in getattr(item, "__dict__", {}).items() if not key.startswith("_")]
        if name != "Plan":
            assert all(member.__doc__ for member in members), name
    assert re.search(r"Parameters\n\s*-+", ab.Plan.run.__doc__)


def test_interpreter_without_a_lock_stays_without_one():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this interpreter has a global lock")
    code = "import sys, anabranch; print(sys._is_gil_enabled())"
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == "False", ran.stderr
