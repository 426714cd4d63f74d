"""The benchmarks of `anabranch tunnel` over emulated paths: the test bed, and a tunnel on it."""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

from tunnel_bench import PORT, replace, running

NAME = "bench-tunnel"
# An address of the far host that the near one reaches through the tunnel's TUN device only.
BEHIND = "192.0.2.1"
# Microseconds by which 99 % of the packets may be late.
LATEST = 1_000


class TestBed:
    """Two hosts with emulated paths between them, removed at the end."""

    def __init__(self, program, paths, queue):
        self.program = program
        self.paths = paths
        self.queue = queue

    def __enter__(self):
        paths = [part for path in self.paths for part in ("--path", path)]
        self.run("up", "--quiet", "--name", NAME, "--queue", str(self.queue), *paths)
        subprocess.run([*on("far"), "ip", "address", "add", f"{BEHIND}/32", "dev", "lo"], check=True)
        return self

    def __exit__(self, *_):
        self.run("down", "--quiet", "--name", NAME)

    def run(self, verb, *arguments):
        command = [self.program, "testbed", verb, *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def lateness(self):
        """Microseconds by which 99 % of the packets were late at most."""
        beds = [json.loads(line) for line in self.run("status", "--json").splitlines()]
        return next(bed["state"]["lateness_p99_us"] for bed in beds if bed.get("name") == NAME)


def on(host):
    """The command prefix that runs programs on a host."""
    return ["ip", "netns", "exec", f"anabranch-{NAME}-{host}"]


@contextlib.contextmanager
def tunnel(program, paths, tun=False, classes=()):
    """A tunnel over the paths with these numbers, with a forwarded port, and with `tun` with a TUN device that leads to BEHIND."""
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder) / "tunnel"
        servers = [part for path in paths for part in ("--server", f"10.{path}.0.2")]
        command = [program, "tunnel", "init", *["--tun"] * tun, *servers, files]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        listen = ",".join(f"10.{path}.0.2:9899" for path in paths)
        replace(files / "server.conf", "Listen = 9899\n", f"Listen = {listen}\n")
        replace(files / "server.conf", "[Peer]\n", f"[Peer]\nAllow = 127.0.0.1, {BEHIND}\n")
        lines = [f"Path = 10.{path}.0.1" for path in paths]
        lines += [f"Class = {line}" for line in classes]
        lines += [f"Forward = {PORT}:127.0.0.1:{PORT}", *[f"Route = {BEHIND}/32"] * tun]
        replace(files / "client.conf", "[Interface]\n", "\n".join(["[Interface]", *lines, ""]))
        server = [*on("far"), program, "tunnel", "--json", files / "server.conf"]
        client = [*on("near"), program, "tunnel", "--json", files / "client.conf"]
        with running(server, "tunnel-listening"), running(client, "tunnel-up"):
            yield


@contextlib.contextmanager
def cut(paths):
    """The paths with these numbers lose all packets, and no device says so."""
    table = "add table inet cut"
    chains = [f"add chain inet cut {hook} {{ type filter hook {hook} priority 0 ; }}" for hook in ("input", "output")]
    rules = [f"add rule inet cut {hook} {device} path{path} drop" for path in paths for hook, device in (("input", "iifname"), ("output", "oifname"))]
    subprocess.run([*on("near"), "nft", "; ".join([table, *chains, *rules])], check=True)
    try:
        yield
    finally:
        subprocess.run([*on("near"), "nft", "delete table inet cut"], check=True)


def check_lateness(lateness):
    """Says how late packets were, and ends the program if figures do not count."""
    print(f"99 % of the packets were at most {lateness} us late")
    if lateness > LATEST:
        sys.exit("the test bed was late, so these figures do not count; use an idle machine")
