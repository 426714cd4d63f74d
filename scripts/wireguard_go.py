"""wireguard-go between two hosts, for the benchmarks of `anabranch tunnel`."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import time

from tunnel_bench import running

MODULE = "golang.zx2c4.com/wireguard@v0.0.0-20260522210424-ecfc5a8d5446"
# Addresses inside the tunnel.
INNER = ("10.214.0.1", "10.214.0.2")
# Seconds until it must be ready.
PATIENCE = 20


def build(folder):
    environment = {**os.environ, "GOBIN": folder}
    subprocess.run(["go", "install", MODULE], check=True, env=environment)
    return os.path.join(folder, "wireguard")


@contextlib.contextmanager
def wireguard(program, ends):
    """wireguard-go on two hosts, each a command prefix that runs programs there and its address; inside, they have the addresses INNER."""
    keys = [key_pair(), key_pair()]
    with contextlib.ExitStack() as programs:
        for end, (host, _) in enumerate(ends):
            device = ("wg-client", "wg-server")[end]
            place = pathlib.Path(f"/var/run/wireguard/{device}.sock")
            # That of a run that was killed.
            place.unlink(missing_ok=True)
            programs.enter_context(running([*host, program, "--foreground", device]))
            await_file(place)
            configure(place, keys[end][0], keys[1 - end][1], ends[1 - end][1])
            subprocess.run([*host, "ip", "address", "add", f"{INNER[end]}/24", "dev", device], check=True)
            subprocess.run([*host, "ip", "link", "set", device, "up", "mtu", "1420"], check=True)
        yield


def key_pair():
    """A private and a public key of X25519, as bytes."""

    def openssl(*arguments, given=None):
        return subprocess.run(["openssl", *arguments, "-outform", "DER"], check=True, capture_output=True, input=given).stdout

    private = openssl("genpkey", "-algorithm", "X25519")
    public = openssl("pkey", "-inform", "DER", "-pubout", given=private)
    return private[-32:], public[-32:]


def await_file(file):
    until = time.monotonic() + PATIENCE
    while not file.exists():
        if time.monotonic() > until:
            sys.exit(f"wireguard-go is not ready: there is no {file}")
        time.sleep(0.05)


def configure(place, private, peer, address):
    """Tells a running wireguard-go its keys and its peer by its socket (https://www.wireguard.com/xplatform/)."""
    lines = [
        "set=1",
        f"private_key={private.hex()}",
        "listen_port=51820",
        f"public_key={peer.hex()}",
        f"endpoint={address}:51820",
        "allowed_ip=10.214.0.0/24",
    ]
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(place))
        control.sendall("".join(f"{line}\n" for line in [*lines, ""]).encode())
        answer = control.makefile().readline()
        if answer.strip() != "errno=0":
            sys.exit(f"wireguard-go refused its configuration: {answer}")
