"""What the loader says without ending anything."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings


class StokerWarning(UserWarning):
    """One sentence of the loader's: what it could not translate, or does otherwise."""


def say(sentence: str) -> None:
    """A line on stderr. Unlike a warning it raises nothing, whatever the program has made of warnings and of stderr."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"stoker: feed: {sentence}\n")
        sys.stderr.flush()


def warn(sentence: str) -> None:
    """Say it, pointing at the line outside of this package that led here."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, StokerWarning, stacklevel=depth)


_PACKAGE = os.path.dirname(warn.__code__.co_filename) + os.sep
