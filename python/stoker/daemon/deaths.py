"""How long a silent daemon is waited for, and whether another one is worth a start when it has died.

A daemon that is silent is not a dead one: a busy machine is silent too, and a stopped one. So its silence is counted
while this process itself runs, and only what does not even answer a ping is silent.
"""

from __future__ import annotations

import os
import time

_PATIENCE = 30.0  # seconds of silence [J]: beyond what a machine that swaps takes for an answer
_BORNE = 5  # deaths in an iteration, before Pillow does the rest of it [J]
_MINUTE = 60.0  # after which one more is borne: an iteration may last for days
_STEP = 1.0  # seconds: a wait has such steps; in a longer one this process was stopped itself


def patience(timeout: float = 0) -> float:
    """Seconds without any sign of life after which a daemon is given up: STOKER_FEED_PATIENCE, but less than a
    loader's timeout=."""
    try:
        seconds = float(os.environ.get("STOKER_FEED_PATIENCE") or _PATIENCE)
    except ValueError:
        seconds = _PATIENCE
    seconds = seconds if seconds > 0 else _PATIENCE
    return min(seconds, timeout / 3) if timeout > 0 else seconds


class Silence:
    """Seconds since the daemon was heard, as far as this process was awake in them."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last = time.monotonic()

    def grow(self) -> float:
        """Count the time since the last call; to be called every second."""
        now = time.monotonic()
        self.seconds += min(now - self._last, 1.5 * _STEP)
        self._last = now
        return self.seconds

    def end(self) -> None:
        """The daemon was heard."""
        self.seconds, self._last = 0.0, time.monotonic()


class Deaths:
    """The daemons that a loader has lost.

    A few are borne in each iteration, and more with time; of those that did nothing two in a row.
    """

    def __init__(self) -> None:
        self._idle = 0
        self.iteration()

    def iteration(self) -> None:
        """Another iteration begins."""
        self._left, self._since = float(_BORNE), time.monotonic()

    def bear(self, worked: bool) -> bool:
        """Whether to start another one after a death; worked: the daemon that died had made something."""
        now = time.monotonic()
        self._left, self._since = min(_BORNE, self._left + (now - self._since) / _MINUTE), now
        self._idle = 0 if worked else self._idle + 1
        if self._idle >= 2 or self._left < 1:
            return False
        self._left -= 1
        return True

    def recover(self) -> None:
        """What the daemons may have died of was done by others."""
        self._idle = 0
