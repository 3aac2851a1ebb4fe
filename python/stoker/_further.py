"""What is stood for besides Pillow and torch once the program has imported it, and the daemon was seen to make it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import _pictures, _readers, _trust, _vision
from ._feed import Gone
from ._pictures import undoing


class _Group(NamedTuple):
    imported: Callable[[], bool]
    trials: Callable[[], Iterator[Any]]
    install: Callable[[], None]


def _operations() -> Iterator[Any]:
    from . import _vision_trials

    return _vision_trials.operations()


def _decoders() -> Iterator[Any]:
    from . import _vision_trials

    return _vision_trials.decoders()


_GROUPS = {
    "v2": _Group(_vision.imported, _operations, _vision.install),
    "io": _Group(_readers.imported, _decoders, _readers.install),
}
_known: set[str] = set()  # those that were tried
_failed: set[str] = set()  # and those of which that could not be done, as an older version lacks something
_installed: set[str] = set()


def wanted() -> bool:
    """Whether something has been imported that was not tried."""
    return any(name not in _known | _failed and group.imported() for name, group in _GROUPS.items())


def check(make: _trust.Make) -> set[str]:
    """Try what has been imported; what is left of it to the library."""
    found: set[str] = set()
    for name, group in _GROUPS.items():
        if name not in _known | _failed and group.imported():
            try:
                found |= _trust.check(make, name, group.trials)
            except Gone:
                raise
            except Exception:
                _failed.add(name)
                raise
            found |= _vision.FUSED if found & _vision.FUSED else set()
            _known.add(name)
    _pictures.left.update(found)
    return found


def install() -> None:
    """Put in place in this process what was tried."""
    if "torchvision" in sys.modules:
        for name in _known - _installed:
            _installed.add(name)
            undoing(lambda name=name: _installed.discard(name))  # type: ignore[misc]
            _GROUPS[name].install()
