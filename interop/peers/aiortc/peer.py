"""How does aiortc behave as a peer? One association over UDP, messages in both directions, and a report as one line of
JSON. Options, messages and report are those of all third-party peers: see README.md one folder up.

Only the SCTP of aiortc is used: its package would also load codecs and DTLS, and a UDP socket takes the place of the
latter, except with --dtls. aiortc ends an association only by ABORT; it knows one address.
"""

import argparse
import asyncio
import importlib.util
import json
import sys
import time
import types

import udp

# Bytes that may wait to be sent: the stack itself has no limit.
BACKLOG = 1 << 20
PATIENCE = 60


def load_sctp():
    """Imports aiortc.rtcsctptransport without running the package's own imports."""
    package = types.ModuleType("aiortc")
    package.__path__ = importlib.util.find_spec("aiortc").submodule_search_locations
    sys.modules["aiortc"] = package
    dtls = types.ModuleType("aiortc.rtcdtlstransport")
    dtls.RTCDtlsTransport = object
    sys.modules["aiortc.rtcdtlstransport"] = dtls
    # The two import each other; this order works.
    import aiortc.rtcdatachannel  # noqa: F401
    import aiortc.rtcsctptransport

    return aiortc.rtcsctptransport


sctp = load_sctp()


class UdpTransport(udp.UdpSocket):
    """What DTLS is to SCTP, without DTLS."""

    def __init__(self, is_server):
        super().__init__()
        self.state = "connected"
        self._role = "server" if is_server else "client"
        self._receiver = None

    def _register_data_receiver(self, receiver):
        self._receiver = receiver

    def _unregister_data_receiver(self, _receiver):
        self._receiver = None

    async def _send_data(self, data):
        self._udp.sendto(data)

    async def run(self):
        """Hands over packet by packet: the next one waits until the last one is done."""
        while True:
            packet = await self._packets.get()
            if self._receiver is not None:
                await self._receiver._handle_data(packet)


class Plan:
    def __init__(self, options):
        self.lengths = [int(length) for length in options.lengths.split(",")]
        self.streams = options.streams
        self.odd_unordered = options.odd_unordered
        self.retransmissions = options.retransmissions

    def stream(self, number):
        return number % self.streams

    def is_unordered(self, stream):
        return self.odd_unordered and stream % 2 == 1

    def limit(self, stream):
        """The limit of retransmissions of chunks on this stream, if there is one."""
        return self.retransmissions if stream % 4 >= 2 else None

    def message(self, number):
        """The number, then bytes that count up from it."""
        length = self.lengths[number % len(self.lengths)]
        rest = bytes((number + at) & 0xFF for at in range(4, min(length, 260)))
        whole = rest * (length // 256 + 1)
        return number.to_bytes(4, "big") + whole[: length - 4]


class Peer(sctp.RTCSctpTransport):
    def __init__(self, transport, options):
        super().__init__(transport)
        self.plan = Plan(options)
        self.options = options
        self.established = asyncio.Event()
        self.closed = asyncio.Event()
        self.received_all = asyncio.Event()
        self.next = {}
        self.times = []
        self.report = {
            "event": "report",
            "stack": "aiortc",
            "connected": False,
            "ended": "failed",
            "sent": 0,
            "received": 0,
            "bytes": 0,
            "seconds": 0,
            "goodput_bit_per_second": 0,
            "paths": 1,
            "error": "",
        }

    async def _init(self):
        """It begins an association with any peer, as RFC 8841 has it; one that only listens must not."""
        if self.options.connect:
            await super()._init()

    def _set_state(self, state):
        before = self._association_state
        super()._set_state(state)
        if state == self.State.ESTABLISHED:
            self.report["connected"] = True
            self.established.set()
        if state == self.State.CLOSED and before != state:
            finished = before == self.State.SHUTDOWN_ACK_SENT
            self.report["ended"] = "finished" if finished else "aborted"
            self.established.set()
            self.closed.set()

    async def _receive(self, stream_id, _protocol, data):
        number = int.from_bytes(data[:4], "big")
        if len(data) < 4 or stream_id != self.plan.stream(number) or data != self.plan.message(number):
            self.fail(f"message {number} is not what it should be")
        expected = self.next.get(stream_id, stream_id)
        in_order = number == expected or (self.plan.limit(stream_id) is not None and number > expected)
        if not self.plan.is_unordered(stream_id) and not in_order:
            self.fail(f"message {number} came out of its order")
        self.next[stream_id] = number + self.plan.streams
        self.times.append(time.monotonic())
        self.report["received"] += 1
        self.report["bytes"] += len(data)
        if self.report["received"] >= self.options.receive:
            self.received_all.set()

    def fail(self, what):
        self.report["error"] = self.report["error"] or what

    async def send_all(self):
        for number in range(self.options.send):
            stream = self.plan.stream(number)
            while len(self._outbound_queue) * sctp.USERDATA_MAX_LENGTH > BACKLOG:
                await asyncio.sleep(0.001)
            ordered = not self.plan.is_unordered(stream)
            limit = self.plan.limit(stream)
            await self._send(stream, 53, self.plan.message(number), max_retransmits=limit, ordered=ordered)
            self.report["sent"] += 1

    async def converse(self):
        await self.start(None, 5000)
        await asyncio.wait_for(self.established.wait(), PATIENCE)
        await self.send_all()
        if self.options.end == "abort":
            if self.options.receive:
                await asyncio.wait_for(self.received_all.wait(), PATIENCE)
            while self._outbound_queue or self._sent_queue:
                await asyncio.sleep(0.001)
            await self.stop()
        await asyncio.wait_for(self.closed.wait(), PATIENCE)


async def run(options):
    loop = asyncio.get_running_loop()
    _, transport = await loop.create_datagram_endpoint(
        lambda: UdpTransport(not options.connect),
        local_addr=("0.0.0.0", options.own_udp),
        remote_addr=(options.peer, options.peer_udp),
    )
    peer = Peer(transport, options)
    print('{"event":"listening"}', flush=True)
    reader = asyncio.ensure_future(transport.run())
    talker = asyncio.ensure_future(peer.converse())
    done, _ = await asyncio.wait([reader, talker], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        if task.exception() is not None:
            peer.fail(repr(task.exception()))
    report = peer.report
    if len(peer.times) > 1:
        report["seconds"] = peer.times[-1] - peer.times[0]
        report["goodput_bit_per_second"] = report["bytes"] * 8 / report["seconds"]
    print(json.dumps(report), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connect", action="store_true")
    parser.add_argument("--peer", default="127.0.0.1")
    parser.add_argument("--own-udp", type=int, required=True)
    parser.add_argument("--peer-udp", type=int, required=True)
    parser.add_argument("--send", type=int, default=0)
    parser.add_argument("--receive", type=int, default=0)
    parser.add_argument("--lengths", default="1000")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--odd-unordered", action="store_true")
    parser.add_argument("--retransmissions", type=int)
    parser.add_argument("--end", choices=["abort", "wait"], default="wait")
    parser.add_argument("--channels", type=int, default=0)
    parser.add_argument("--client", action="store_true")
    parser.add_argument("--dtls", metavar="FINGERPRINT")
    options = parser.parse_args()
    asyncio.run(run_channels(options) if options.channels else run(options))


async def run_channels(options):
    import channels

    await channels.run(options, sctp, UdpTransport)


if __name__ == "__main__":
    main()
