"""Sockets for asyncio: associations over all paths between two hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from . import _native
from ._native import Message, NativeAssociation, NativeEndpoint, PathStatus

_Anywhere = ("0.0.0.0:0", "[::]:0")


class Everyone:
    """Trust in the holders of all keys: look at `Association.peer_key` yourself."""

    def __repr__(self) -> str:
        return "anabranch.EVERYONE"


EVERYONE = Everyone()

Trust = str | Iterable[str] | Everyone | None


class _Closable(Protocol):
    async def close(self) -> None: ...


_T = TypeVar("_T", bound=_Closable)


class Opening(Generic[_T]):
    """What `connect` and `listen` return: ``await`` it, or use it in ``async with``, which also closes it."""

    def __init__(self, work: Any) -> None:
        self._work = work
        self._opened: _T | None = None

    def __await__(self) -> Generator[Any, None, _T]:
        result: Generator[Any, None, _T] = self._work.__await__()
        return result

    async def __aenter__(self) -> _T:
        self._opened = await self
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is None:
            return
        if kind is not None and isinstance(self._opened, Association):
            self._opened.abort(kind.__name__)
        await self._opened.close()


class Association:
    """An association: whole messages on independent streams, over all paths between two hosts.

    ``async for`` yields its messages. `connect` and `Listener` make associations.
    """

    def __init__(self, native: NativeAssociation, endpoint: NativeEndpoint | None = None) -> None:
        self._native = native
        # Of a client, which has an endpoint for itself.
        self._endpoint = endpoint
        self._is_aborted = False

    async def send(
        self, payload: bytes, *, stream: int = 0, ppid: int = 0, unordered: bool = False
    ) -> None:
        """Send a message; wait while the send buffer is full.

        The message is then in the send buffer, not yet delivered; `flushed` waits for that. Await one call before the next: calls that run at
        the same time have no order.

        Parameters
        ----------
        payload : bytes
            The data, at least one byte.
        stream : int
            Number of the stream. Messages of one stream arrive in order.
        ppid : int
            Payload protocol identifier, any number of 32 bits.
        unordered : bool
            Let the message overtake earlier ones of its stream.

        Raises
        ------
        ValueError
            The message is empty or too long, or there is no such stream.
        ConnectionError
            The association is closed.
        """
        await self._native.send(payload, stream, ppid, unordered)

    async def recv(self) -> Message | None:
        """Receive the next message of any stream.

        Returns
        -------
        Message or None
            ``None`` after the last message of a peer that has closed the association.

        Raises
        ------
        ConnectionError
            The association was aborted or failed.
        """
        while await self._native.wait():
            message = self._native.fetch()
            if message is not None:
                return message
        return None

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        message = await self.recv()
        if message is None:
            raise StopAsyncIteration
        return message

    async def flushed(self) -> None:
        """Wait until the peer has acknowledged everything that was sent.

        Raises
        ------
        ConnectionError
            The association ended before.
        """
        await self._native.flushed()

    async def close(self) -> None:
        """Deliver what was sent, and end the association.

        Raises
        ------
        ConnectionError
            Not everything was delivered.
        """
        try:
            if not (self._is_aborted or self._native.is_closed):
                await self._native.shutdown()
        finally:
            if self._endpoint is not None:
                await self._endpoint.close()

    def abort(self, reason: str = "") -> None:
        """End the association at once; what was not delivered is lost."""
        self._is_aborted = True
        self._native.abort(reason)

    def set_path_preference(self, local: str, *, cost: int = 0, limit: int | None = None) -> None:
        """Set how paths from a local address are to be used, also those that do not exist yet.

        Parameters
        ----------
        local : str
            Local address without port, such as that of a metered link.
        cost : int
            What they cost, from 0 to 255, in any unit. Of the active paths, those with the smallest cost carry data, and the others rest.
        limit : int, optional
            Bytes per second that each carries at most in each direction.

        Raises
        ------
        ValueError
            `local` is not an address, or `limit` is 0.
        OverflowError
            `cost` is not between 0 and 255, or `limit` is negative.
        """
        self._native.set_path_preference(local, cost, limit)

    @property
    def paths(self) -> list[PathStatus]:
        """The paths with their state."""
        return self._native.paths

    @property
    def peer_key(self) -> str | None:
        """The public key of the peer as base64; ``None`` without encryption."""
        return self._native.peer_key

    async def __aenter__(self) -> Association:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort(kind.__name__)
        await self.close()


class Listener:
    """An endpoint that accepts associations; ``async for`` yields them. `listen` makes it."""

    def __init__(self, native: NativeEndpoint) -> None:
        self._native = native

    @property
    def addresses(self) -> list[str]:
        """The local addresses, ``host:port``."""
        return self._native.addresses

    async def accept(self) -> Association | None:
        """Wait for the next association; ``None`` when the listener is closed."""
        while await self._native.wait():
            native = self._native.fetch()
            if native is not None:
                return Association(native)
        return None

    def __aiter__(self) -> AsyncIterator[Association]:
        return self

    async def __anext__(self) -> Association:
        association = await self.accept()
        if association is None:
            raise StopAsyncIteration
        return association

    async def close(self) -> None:
        """Close all associations, deliver what was sent, and close the sockets."""
        await self._native.close()


def connect(
    peer: str | Iterable[str],
    *,
    local: str | Iterable[str] = _Anywhere,
    trust: Trust = None,
    key: str | None = None,
    insecure: bool = False,
) -> Opening[Association]:
    """Connect to a peer over all paths to it.

    Parameters
    ----------
    peer : str or iterable of str
        Addresses of the peer, ``host:port``.
    local : str or iterable of str
        Local addresses; port 0 takes a free one, and an unspecified address stands for all of this host.
    trust : str, iterable of str or EVERYONE
        Public keys of which the peer has to hold one.
    key : str, optional
        Own private key, if the peer wants to know who connects. A new one unless given.
    insecure : bool
        Send everything in the clear, as other implementations of SCTP do.

    Returns
    -------
    Opening of Association
        Use it with ``async with``, or ``await`` it.

    Raises
    ------
    ValueError
        A key or an address is not valid, or neither `trust` nor `insecure` is given.
    TimeoutError
        The peer does not answer.
    ConnectionError
        The peer refuses, or is not trusted.
    OSError
        A local address cannot be used.
    """
    trusted = _trusted(trust, insecure)

    async def open_it() -> Association:
        native = await _native.bind(
            _listed(local), identity=key, trusted=trusted, insecure=insecure, listens=False
        )
        try:
            return Association(await native.connect(_listed(peer)), native)
        except BaseException:
            await native.close()
            raise

    return Opening(open_it())


def listen(
    local: str | Iterable[str],
    *,
    key: str | None = None,
    trust: Trust = None,
    insecure: bool = False,
) -> Opening[Listener]:
    """Accept associations at local addresses.

    Parameters
    ----------
    local : str or iterable of str
        Local addresses, ``host:port``; port 0 takes a free one.
    key : str
        Own private key, by whose public key clients know this host: `generate_key`, `public_key`.
    trust : str, iterable of str or EVERYONE
        Public keys of the clients that are accepted.
    insecure : bool
        Send everything in the clear, as other implementations of SCTP do.

    Returns
    -------
    Opening of Listener
        Use it with ``async with``, or ``await`` it.

    Raises
    ------
    ValueError
        A key is not valid, or neither `trust` nor `insecure` is given.
    OSError
        An address cannot be used.
    """
    trusted = _trusted(trust, insecure)

    async def open_it() -> Listener:
        return Listener(
            await _native.bind(_listed(local), identity=key, trusted=trusted, insecure=insecure, listens=True)
        )

    return Opening(open_it())


def _trusted(trust: Trust, insecure: bool) -> list[str] | None:
    """List the trusted keys; ``None`` for those of everyone."""
    if isinstance(trust, Everyone):
        return None
    if trust is None:
        if not insecure:
            raise ValueError("give trust=, the public keys of peers, or insecure=True")
        return []
    return _listed(trust)


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
