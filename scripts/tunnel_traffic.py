"""Traffic through `anabranch tunnel` for its benchmarks, and what of it arrived.

    tunnel_traffic.py echo PORT                             answer UDP datagrams
    tunnel_traffic.py call ADDRESS PORT SECONDS             50 datagrams of 160 bytes a second, which are answered: a call
    tunnel_traffic.py source PORT                           send as much as possible to each TCP connection
    tunnel_traffic.py sink ADDRESS PORT SECONDS             receive from one

`call` and `sink` print what they saw as JSON.
"""

import json
import select
import socket
import struct
import sys
import threading
import time

READY = "listening"
CHUNK = 1 << 16
# Of a call.
INTERVAL = 0.02
SIZE = 160
# Seconds in which answers may still come at the end.
LAST = 1.0
HEADER = struct.Struct("!Id")


def echo(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as answering:
        answering.bind(("0.0.0.0", int(port)))
        print(READY, flush=True)
        while True:
            datagram, sender = answering.recvfrom(2048)
            answering.sendto(datagram, sender)


def call(address, port, seconds):
    """Round-trip times in milliseconds, and how many answers are missing."""
    count = int(float(seconds) / INTERVAL)
    times = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as calling:
        calling.connect((address, int(port)))
        began = time.monotonic()
        for number in range(count):
            until = began + number * INTERVAL
            receive(calling, times, until)
            calling.send(HEADER.pack(number, time.monotonic()).ljust(SIZE, b"\0"))
        receive(calling, times, time.monotonic() + LAST)
    ordered = sorted(times.values())
    show(sent=count, lost=count - len(times), p50_ms=ordered[len(ordered) // 2], p99_ms=ordered[len(ordered) * 99 // 100])


def receive(calling, times, until):
    while (left := until - time.monotonic()) > 0:
        if select.select([calling], [], [], left)[0]:
            number, sent = HEADER.unpack_from(calling.recv(2048))
            times.setdefault(number, (time.monotonic() - sent) * 1e3)


def source(port):
    with socket.create_server(("0.0.0.0", int(port))) as listener:
        print(READY, flush=True)
        while True:
            accepted, _ = listener.accept()
            threading.Thread(target=fill, args=(accepted,), daemon=True).start()


def fill(accepted):
    while True:
        accepted.sendall(bytes(CHUNK))


def sink(address, port, seconds):
    """Bytes, the longest time without any, and bytes of the last second."""
    with socket.create_connection((address, int(port))) as connection:
        began = latest = time.monotonic()
        total, gap, last_second = 0, 0.0, 0
        while latest - began < float(seconds):
            received = len(connection.recv(CHUNK))
            if not received:
                sys.exit("the connection has ended")
            now = time.monotonic()
            gap, latest, total = max(gap, now - latest), now, total + received
            last_second += received * (now - began > float(seconds) - 1)
    show(bytes=total, gap_ms=gap * 1e3, last_second=last_second)


def show(**seen):
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    {"echo": echo, "call": call, "source": source, "sink": sink}[sys.argv[1]](*sys.argv[2:])
