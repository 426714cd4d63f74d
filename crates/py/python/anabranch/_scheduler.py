"""What a path scheduler has to be."""

from typing import Protocol

from ._native import Backlog, PathFacts


class PathScheduler(Protocol):
    """Selects the path of the next packet of new data.

    A scheduler reads facts and decides; the core sends. It may also have a method ``on_sent(path, size, now)``, which is called with the
    id of a path, the bytes of user data that were sent on it for the first time, and the time in nanoseconds.

    The same facts must give the same decision, so that a seed gives the same bytes: no clock, no random numbers, integers rather than
    floating point numbers.
    """

    def pick(self, paths: list[PathFacts], backlog: Backlog, now: int, /) -> int | None:
        """Pick a path.

        Parameters
        ----------
        paths : list of PathFacts
            All paths of the association.
        backlog : Backlog
            The data that waits.
        now : int
            Time of the simulation in nanoseconds.

        Returns
        -------
        int or None
            The id of a path with `can_take_data`; ``None`` to wait for the next acknowledgement.
        """
