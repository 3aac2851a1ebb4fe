"""Libraries besides Pillow and torch: tried and patched once the program has imported them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..daemon.session import Gone
from .materialize import trust
from .recipes import pictures
from .recipes.pictures import on_uninstall
from .torchvision import readers, vision


class _Group(NamedTuple):
    is_imported: Callable[[], bool]
    trials: Callable[[], Iterator[Any]]
    take: Callable[[set[str]], set[str]]  # leaves what differs to the library; returns it, and further operations with it
    say: Callable[[set[str]], str]  # describes the same
    untried: str  # says what happens if the trials cannot run
    install: Callable[[], None] = lambda: None


def _operations() -> Iterator[Any]:
    from .torchvision import vision_trials

    return vision_trials.operations()


def _decoders() -> Iterator[Any]:
    from .torchvision import vision_trials

    return vision_trials.decoders()


def _leave_to_library(left: set[str]) -> set[str]:
    left |= vision.FUSED if left & vision.FUSED else set()
    pictures.untrusted.update(left)
    return left


_TENSORS = "what torchvision makes of tensors is left to it"
_GROUPS = {
    "v2": _Group(vision.is_imported, _operations, _leave_to_library, trust.describe_untrusted, _TENSORS, vision.install),
    "io": _Group(readers.is_imported, _decoders, _leave_to_library, trust.describe_untrusted, _TENSORS, readers.install),
}  # fmt: skip
_tried: set[str] = set()  # groups that were tried
_failed: set[str] = set()  # groups whose trials failed, as an older version lacks something
_installed: set[str] = set()


def has_untried() -> bool:
    """Whether the program has imported a library that was not tried."""
    return any(name not in _tried | _failed and group.is_imported() for name, group in _GROUPS.items())


def check(make: trust.Make) -> Iterator[str]:
    """Run the trials of libraries imported since. Yields sentences about the rest."""
    for name, group in _GROUPS.items():
        if name in _tried | _failed or not group.is_imported():
            continue
        try:
            left = trust.check(make, name, group.trials)
        except Gone as why:  # the next daemon is asked again
            yield f"{group.untried} for now: {why}"
            continue
        except Exception as why:  # our own fault must not end a training
            _failed.add(name)
            yield f"{group.untried}: its trials ended with {why!r}"
            continue
        _tried.add(name)
        left = group.take(left)
        if left:
            yield group.say(left)


def install() -> None:
    """Patch the tried libraries in this process."""
    if "torchvision" in sys.modules:
        for name in _tried - _installed:
            _installed.add(name)
            on_uninstall(lambda name=name: _installed.discard(name))  # type: ignore[misc]
            _GROUPS[name].install()
