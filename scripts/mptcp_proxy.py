"""A proxy pair over the kernel's Multipath TCP, to compare `anabranch tunnel` with.

    mptcp_proxy.py near|far     one of the two relays, on its host

The near relay takes TCP connections at a port of 127.0.0.1 and joins each one to a Multipath TCP connection to the far relay, which connects
to the same port of its own host.
"""

import contextlib
import socket
import subprocess
import sys
import threading

from tunnel_bench import PORT, running

MPTCP = 262  # IPPROTO_MPTCP, which Python's socket module does not name before 3.13
BETWEEN = PORT + 1
CHUNK = 1 << 18
READY = "listening"


@contextlib.contextmanager
def mptcp(near, far, paths):
    """The relays on two hosts, each a command prefix that runs programs there, over this many paths."""
    for host in (near, far):
        subprocess.run([*host, "ip", "mptcp", "limits", "set", "subflows", str(paths), "add_addr_accepted", str(paths)], check=True)
    # The first subflow uses path 0; the far host announces the other addresses.
    for path in range(1, paths):
        subprocess.run([*far, "ip", "mptcp", "endpoint", "add", f"10.{path}.0.2", "dev", f"path{path}", "signal"], check=True)
    relay = [sys.executable, __file__]
    try:
        with running([*far, *relay, "far"], READY), running([*near, *relay, "near"], READY):
            yield
    finally:
        subprocess.run([*far, "ip", "mptcp", "endpoint", "flush"], check=True)


def serve(listen, protocol, connect, connect_protocol):
    with socket.socket(proto=protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(listen)
        listener.listen()
        print(READY, flush=True)
        while True:
            accepted, _ = listener.accept()
            threading.Thread(target=join, args=(accepted, connect, connect_protocol), daemon=True).start()


def join(accepted, address, protocol):
    connected = socket.socket(proto=protocol)
    connected.connect(address)
    for source, sink in ((accepted, connected), (connected, accepted)):
        threading.Thread(target=copy, args=(source, sink), daemon=True).start()


def copy(source, sink):
    buffer = memoryview(bytearray(CHUNK))
    with contextlib.suppress(OSError):
        while count := source.recv_into(buffer):
            sink.sendall(buffer[:count])
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    if sys.argv[1] == "near":
        serve(("127.0.0.1", PORT), socket.IPPROTO_TCP, ("10.0.0.2", BETWEEN), MPTCP)
    else:
        serve(("0.0.0.0", BETWEEN), MPTCP, ("127.0.0.1", PORT), socket.IPPROTO_TCP)
