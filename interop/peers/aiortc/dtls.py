"""DTLS of aiortc over a UDP socket, without ICE and media: see README.md one folder up."""

import asyncio
import json
import sys
import types

import udp


def stub(name, **members):
    """A module in place of one that only media or ICE need."""
    module = types.ModuleType(name)
    for member, value in members.items():
        setattr(module, member, value)
    sys.modules[name] = module


def load_dtls():
    """Imports aiortc.rtcdtlstransport, in place of what peer.py has put there."""
    stub("av", AudioFrame=object)
    policies = types.SimpleNamespace(ALL=0, RELAY=1)
    stub("aioice", Candidate=object, Connection=object, ConnectionClosed=object, TransportPolicy=policies)
    del sys.modules["aiortc.rtcdtlstransport"]
    import aiortc.rtcdtlstransport

    return aiortc.rtcdtlstransport


class Ice(udp.UdpSocket):
    """What ICE is to DTLS, without ICE."""

    role = "controlled"
    state = "completed"

    async def _recv(self):
        return await self._packets.get()

    async def _send(self, data):
        self._udp.sendto(data)


async def connect(options):
    """The DTLS session with the peer whose fingerprint the options have."""
    dtls = load_dtls()
    loop = asyncio.get_running_loop()
    _, ice = await loop.create_datagram_endpoint(
        Ice,
        local_addr=("0.0.0.0", options.own_udp),
        remote_addr=(options.peer, options.peer_udp),
    )
    transport = dtls.RTCDtlsTransport(ice, [dtls.RTCCertificate.generateCertificate()])
    transport._set_role("client" if options.client else "server")
    own = next(one for one in transport.getLocalParameters().fingerprints if one.algorithm == "sha-256")
    print(json.dumps({"event": "listening", "fingerprint": f"sha-256 {own.value}"}), flush=True)
    algorithm, value = options.dtls.split()
    fingerprint = dtls.RTCDtlsFingerprint(algorithm=algorithm, value=value)
    await transport.start(dtls.RTCDtlsParameters(fingerprints=[fingerprint]))
    if transport.state != "connected":
        raise ConnectionError(f"the DTLS session is {transport.state}")
    return transport
