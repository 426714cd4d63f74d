"""Data channels (RFC 8832) of aiortc. Each end opens channels, one after the other on the same stream, and the other end echoes what it
receives: see README.md one folder up.
"""

import asyncio
import json

PATIENCE = 60


def notes(number):
    """What is sent on each channel."""
    return [f"text {number}", bytes([number, 0, 255]), "", b""]


def parameters(number):
    """One of three kinds of channels."""
    from aiortc.rtcdatachannel import RTCDataChannelParameters

    kinds = [{}, {"ordered": False, "maxRetransmits": 3}, {"maxPacketLifeTime": 5000}]
    return RTCDataChannelParameters(label=f"round {number}", protocol="echo", **kinds[number % 3])


def echo(channel):
    """Echoes what arrives on a channel of the other end, until it says "close" or closes it."""

    def on_message(message):
        if message == "close":
            channel.close()
        else:
            channel.send(message)

    channel.on("message", on_message)


class Peer:
    def __init__(self, options, sctp, transport):
        self.options = options
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
        self.established = asyncio.Event()
        self.closed = asyncio.Event()
        peer = self

        class Transport(sctp.RTCSctpTransport):
            async def _init(self):
                """It begins an association with any peer, as RFC 8841 has it; one that only listens must not."""
                if options.connect:
                    await super()._init()

            def _set_state(self, state):
                before = self._association_state
                super()._set_state(state)
                if state == self.State.ESTABLISHED:
                    peer.report["connected"] = True
                    peer.established.set()
                if state == self.State.CLOSED and before != state:
                    finished = before == self.State.SHUTDOWN_ACK_SENT
                    peer.report["ended"] = "finished" if finished else "aborted"
                    peer.closed.set()

        self.sctp = Transport(transport)
        self.sctp.on("datachannel", echo)

    async def round(self, number):
        """Opens one channel, sends, waits for the echo and closes, in every second round by the other end."""
        from aiortc.rtcdatachannel import RTCDataChannel

        channel = RTCDataChannel(self.sctp, parameters(number))
        is_open, is_closed = asyncio.Event(), asyncio.Event()
        received = asyncio.Queue()
        channel.on("open", is_open.set)
        channel.on("close", is_closed.set)
        channel.on("message", received.put_nowait)
        await asyncio.wait_for(is_open.wait(), PATIENCE)
        want = notes(number)
        for note in want:
            channel.send(note)
            self.report["sent"] += 1
        for _ in range(len(want)):
            note = await asyncio.wait_for(received.get(), PATIENCE)
            want.remove(note)
            self.report["received"] += 1
        if number % 2 == 0:
            channel.close()
        else:
            channel.send("close")
        await asyncio.wait_for(is_closed.wait(), PATIENCE)

    async def converse(self):
        """Runs the rounds, and serves the other end until it ends the association."""
        from aiortc.rtcdatachannel import RTCDataChannel, RTCDataChannelParameters

        await self.sctp.start(None, 5000)
        await asyncio.wait_for(self.established.wait(), PATIENCE)
        for number in range(self.options.channels):
            await self.round(number)
        RTCDataChannel(self.sctp, RTCDataChannelParameters(label="done"))
        await asyncio.wait_for(self.closed.wait(), PATIENCE)


async def over_udp(options, transport_type):
    """The socket in place of DTLS, and the task that reads it."""
    # The role of DTLS decides on the streams.
    loop = asyncio.get_running_loop()
    _, transport = await loop.create_datagram_endpoint(
        lambda: transport_type(not options.client),
        local_addr=("0.0.0.0", options.own_udp),
        remote_addr=(options.peer, options.peer_udp),
    )
    print('{"event":"listening"}', flush=True)
    return transport, [asyncio.ensure_future(transport.run())]


async def run(options, sctp, transport_type):
    if options.dtls:
        import dtls

        transport, tasks = await dtls.connect(options), []
    else:
        transport, tasks = await over_udp(options, transport_type)
    peer = Peer(options, sctp, transport)
    tasks.append(asyncio.ensure_future(peer.converse()))
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        if task.exception() is not None:
            peer.report["error"] = repr(task.exception())
    print(json.dumps(peer.report), flush=True)
