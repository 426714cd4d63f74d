"""The examples of docs/python.md and docs/clusters.md work as they are written there."""

import asyncio
import re
import socket
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from unittest.mock import MagicMock, create_autospec

import anabranch as ab
import pytest

TOP = Path(__file__).parents[3]

PLAN = """
title = "Two paths"
claim = "none"

[time]
warm-up = "100ms"
measure = "300ms"

[paths.a]
rate = "10Mbit"
delay = "10ms"

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
name = "mine"
policies.path-scheduler = "blest"
"""


def snippets(page):
    """The Python blocks of a page by their section; several of one section in order."""
    found, section, block = {}, "", None
    for line in (TOP / "docs" / page).read_text(encoding="utf-8").splitlines():
        if block is None and line.startswith("#"):
            section = line.lstrip("# ")
        if line == "```python":
            block = []
        elif line == "```" and block is not None:
            found.setdefault(section, []).append("\n".join(block) + "\n")
            block = None
        elif block is not None:
            block.append(line)
    return found


PYTHON = snippets("python.md")
CLUSTERS = snippets("clusters.md")


def test_every_snippet_is_run():
    assert {section: len(blocks) for section, blocks in {**PYTHON, **CLUSTERS}.items()} == {
        "Plans": 1,
        "Runs": 1,
        "Path schedulers in Python": 1,
        "Results": 1,
        "Sockets for asyncio": 1,
        "2. Start a cluster": 1,
        "3. Run the plan": 1,
        "What it costs": 1,
    }


def test_plans_schedulers_and_results(monkeypatch):
    polars, pandas, pyarrow = (pytest.importorskip(name) for name in ("polars", "pandas", "pyarrow"))
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("pandas 2")
    monkeypatch.chdir(TOP)
    names = {"text": PLAN, "polars": polars, "pandas": pandas, "pyarrow": pyarrow}
    exec(PYTHON["Plans"][0], names)
    assert names["plan"].name == "mine"
    exec(PYTHON["Path schedulers in Python"][0], names)
    assert len(names["results"]) == 2 and not names["results"].failures
    exec(PYTHON["Results"][0], names)


def test_program_with_processes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PYTHON["Runs"][0])
    ran = subprocess.run([sys.executable, program], cwd=TOP, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() in ("reproduced", "partly", "contradicted", "undecided"), ran.stdout


def test_sockets(capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = {}
    exec(PYTHON["Sockets for asyncio"][0].replace(":9899", f":{port}"), names)

    async def both():
        key = ab.generate_key()
        server = asyncio.create_task(names["server"](key))
        await names["client"](ab.public_key(key))
        server.cancel()

    asyncio.run(asyncio.wait_for(both(), 30))
    assert capsys.readouterr().out.startswith("b'hello over two paths' [")


def test_clusters_are_made_by_arguments_that_dask_has(monkeypatch):
    import distributed

    for name in ("Client", "LocalCluster", "SSHCluster"):
        monkeypatch.setattr(distributed, name, create_autospec(getattr(distributed, name)))
    # Its own package is not needed for a test.
    monkeypatch.setitem(sys.modules, "dask_jobqueue", MagicMock())
    exec(CLUSTERS["2. Start a cluster"][0], {})
    assert distributed.Client.call_count == 4


def test_plan_on_a_cluster(monkeypatch, tmp_path):
    from distributed import Client

    monkeypatch.chdir(tmp_path)
    Path("big.toml").write_text(PLAN)
    code = CLUSTERS["3. Run the plan"][0].replace("/shared/cache", str(tmp_path / "cache"))
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        exec(code, {"client": client})
    assert any(Path("out").glob("*.parquet"))


def test_settings_are_those_of_dask(monkeypatch):
    import dask
    import distributed  # noqa: F401 - it brings the settings

    keys = re.findall(r'"(distributed\.[a-z.-]+)":', CLUSTERS["What it costs"][0])
    assert len(keys) > 3
    for key in keys:
        dask.config.get(key)
    monkeypatch.setattr(dask.config, "config", deepcopy(dask.config.config))
    exec(CLUSTERS["What it costs"][0], {})
