"""A UDP socket with one peer, whose datagrams wait in a queue."""

import asyncio


class UdpSocket(asyncio.DatagramProtocol):
    def __init__(self):
        self._packets = asyncio.Queue()

    def connection_made(self, transport):
        self._udp = transport

    def datagram_received(self, data, _source):
        self._packets.put_nowait(data)

    def error_received(self, _error):
        """The peer is not there yet, or not any more: a loss like any other."""
