"""What is stood for besides Pillow and torch once the program has imported it, and the daemon was seen to make it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..daemon.session import Gone
from .materialize import trust
from .recipes import pictures
from .recipes.pictures import undoing
from .torchvision import readers, vision


class _Group(NamedTuple):
    imported: Callable[[], bool]
    trials: Callable[[], Iterator[Any]]
    take: Callable[[set[str]], set[str]]  # leave what differs to the library; the same, with what differs as well then
    say: Callable[[set[str]], str]  # of the same
    untried: str  # what becomes of it where it could not be tried
    install: Callable[[], None] = lambda: None


def _operations() -> Iterator[Any]:
    from .torchvision import vision_trials

    return vision_trials.operations()


def _decoders() -> Iterator[Any]:
    from .torchvision import vision_trials

    return vision_trials.decoders()


def _leave(left: set[str]) -> set[str]:
    left |= vision.FUSED if left & vision.FUSED else set()
    pictures.left.update(left)
    return left


_TENSORS = "what torchvision makes of tensors is left to it"
_GROUPS = {
    "v2": _Group(vision.imported, _operations, _leave, trust.say_left, _TENSORS, vision.install),
    "io": _Group(readers.imported, _decoders, _leave, trust.say_left, _TENSORS, readers.install),
}  # fmt: skip
_known: set[str] = set()  # those that were tried
_failed: set[str] = set()  # and those of which that could not be done, as an older version lacks something
_installed: set[str] = set()


def wanted() -> bool:
    """Whether something has been imported that was not tried."""
    return any(name not in _known | _failed and group.imported() for name, group in _GROUPS.items())


def check(make: trust.Make) -> Iterator[str]:
    """Try what has been imported, and have the rest left to the library; what is to be said of it."""
    for name, group in _GROUPS.items():
        if name in _known | _failed or not group.imported():
            continue
        try:
            left = trust.check(make, name, group.trials)
        except Gone as why:  # the next daemon is asked again
            yield f"{group.untried} for now: {why}"
            continue
        except Exception as why:  # a fault of ours, which is not to end a training
            _failed.add(name)
            yield f"{group.untried}: its trials ended with {why!r}"
            continue
        _known.add(name)
        left = group.take(left)
        if left:
            yield group.say(left)


def install() -> None:
    """Put in place in this process what was tried."""
    if "torchvision" in sys.modules:
        for name in _known - _installed:
            _installed.add(name)
            undoing(lambda name=name: _installed.discard(name))  # type: ignore[misc]
            _GROUPS[name].install()
