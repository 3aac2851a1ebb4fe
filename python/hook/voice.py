"""The lines that `stoker tune` puts on stderr. A part of the start-up hook, of apply.py, live.py and precision.py."""

import os
import sys

from . import describe

_said = set()


def say(text, who="plan"):
    """One line on stderr, once: of the first rank, and not of workers."""
    if text in _said or os.environ.get("RANK", "0") != "0" or describe.worker_id() is not None:
        return
    _said.add(text)
    try:
        sys.stderr.write("stoker: %s: %s\n" % (who, text))
        sys.stderr.flush()
    except Exception:
        pass  # it is closed
