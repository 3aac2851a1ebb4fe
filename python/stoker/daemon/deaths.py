"""How long to wait for a silent daemon, and whether to start another one after it has died.

A silent daemon need not be dead: the machine may be busy, or the process stopped. So silence counts
only while this process itself runs, and only if a ping stays unanswered.
"""

from __future__ import annotations

import os
import time

_PATIENCE = 30.0  # seconds of silence [J]: longer than a swapping machine takes to answer
_BORNE = 5  # deaths in an iteration, before Pillow does the rest [J]
_MINUTE = 60.0  # after which another death is accepted: an iteration may last for days
_STEP = 1.0  # seconds: if a step of a wait takes longer, this process was stopped itself


def patience(timeout: float = 0) -> float:
    """Return the seconds of silence after which a daemon is given up.

    STOKER_FEED_PATIENCE sets them; they are fewer if the loader has a short timeout=.
    """
    try:
        seconds = float(os.environ.get("STOKER_FEED_PATIENCE") or _PATIENCE)
    except ValueError:
        seconds = _PATIENCE
    seconds = seconds if seconds > 0 else _PATIENCE
    return min(seconds, timeout / 3) if timeout > 0 else seconds


class Silence:
    """The seconds since the daemon was last heard, while this process was running."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last = time.monotonic()

    def grow(self) -> float:
        """Add the time since the last call, which should be a second ago. Returns the sum."""
        now = time.monotonic()
        self.seconds += min(now - self._last, 1.5 * _STEP)
        self._last = now
        return self.seconds

    def end(self) -> None:
        """Start again from zero: the daemon was heard."""
        self.seconds, self._last = 0.0, time.monotonic()


class Deaths:
    """The daemons that a loader has lost.

    A few deaths are accepted in each iteration, and more as time passes, but not two in a row of
    daemons that had done nothing.
    """

    def __init__(self) -> None:
        self._idle = 0
        self.iteration()

    def iteration(self) -> None:
        """Begin another iteration."""
        self._left, self._since = float(_BORNE), time.monotonic()

    def bear(self, worked: bool) -> bool:
        """Return whether to start another daemon; worked: the dead one had computed something."""
        now = time.monotonic()
        self._left, self._since = min(_BORNE, self._left + (now - self._since) / _MINUTE), now
        self._idle = 0 if worked else self._idle + 1
        if self._idle >= 2 or self._left < 1:
            return False
        self._left -= 1
        return True

    def recover(self) -> None:
        """Forget idle deaths: Pillow has done the work that the daemons may have died of."""
        self._idle = 0
