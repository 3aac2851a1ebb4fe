"""Messages of the loader that end nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings


class StokerWarning(UserWarning):
    """One sentence of the loader: a transform that it could not translate, or a difference."""


def say(sentence: str) -> None:
    """Print a line on stderr. Unlike a warning, it never raises, even if stderr is closed."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"stoker: feed: {sentence}\n")
        sys.stderr.flush()


_said: set[str] = set()


def say_once(sentence: str) -> None:
    """Print a line on stderr unless this process has printed it before."""
    if sentence not in _said:
        _said.add(sentence)
        say(sentence)


def warn(sentence: str) -> None:
    """Warn, with the line outside of this package that called it."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, StokerWarning, stacklevel=depth)


_PACKAGE = os.path.dirname(warn.__code__.co_filename) + os.sep
