"""Runs a plan on a cluster for ``anabranch lab run --on``: ``python3 -m anabranch._on dask://HOST:PORT``.

Standard input has a JSON object with the plan. On standard output, each line is a JSON object: first ``version`` and ``digest``, then
``progress``, at the end ``records`` or ``error``. The end of standard input ends the runs.
"""

import _thread
import json
import sys
import threading
from typing import Any

from . import _native
from ._native import NativePlan, Progress
from ._sweep import gather


def main(address: str) -> int:
    """Run the plan of standard input; return the exit code."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_stop_at_end, daemon=True).start()
    try:
        plan = NativePlan(request["file"], request["text"], request["quick"], request["changes"])
        _say(version=_native.VERSION, digest=plan.digest)
        with _client(address) as client:
            arguments = (request["text"], request["file"], request["quick"], tuple(request["changes"]))
            records = gather(client, arguments, plan, request["cache"], {}, _show).records()
        sys.stdout.buffer.write(b'{"records":' + records + b"}\n")
        sys.stdout.buffer.flush()
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        _say(error=str(error) or type(error).__name__)
        return 1
    return 0


def _client(address: str) -> Any:
    scheme, _, rest = address.partition("://")
    if scheme != "dask":
        raise ValueError(f"{address} is not an address such as dask://HOST:PORT")
    try:
        from distributed import Client
    except ImportError:
        raise RuntimeError("Dask is missing: pip install 'anabranch[dask]'") from None
    return Client(f"tcp://{rest}", timeout="30s")


def _show(progress: Progress) -> None:
    names = ("done", "all", "cached", "work_done", "work")
    _say(progress={name: getattr(progress, name) for name in names})


def _say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def _stop_at_end() -> None:
    sys.stdin.read()
    _thread.interrupt_main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
