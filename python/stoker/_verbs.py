"""The verbs: each calls the binary and returns its JSON object as a dict.

The fields are those of the command line's --json and always mean the same; unknown is None.
"""

from __future__ import annotations

import json
import operator
import os
import shutil
import stat
import subprocess
import sysconfig
import threading
from collections.abc import Sequence
from typing import Any

_NAME = "stoker.exe" if os.name == "nt" else "stoker"
# Before CPython 3.13, a thread that calls sysconfig during another thread's first call may find
# half of its variables.
_first_look = threading.Lock()


class StokerError(RuntimeError):
    """The binary is missing, or it refused: the message is its own sentence."""


def find_binary() -> str:
    """The path of the stoker binary: STOKER_BIN, else bin/ of this checkout or where pip put it,
    else PATH."""
    named = os.environ.get("STOKER_BIN")
    if named:
        return named
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.path.join(here, _NAME), os.path.join(here, "..", "..", "bin", _NAME), *_script_paths()):
        if os.access(path, os.X_OK) and os.path.isfile(path) and _may_run(path):
            return os.path.normpath(path)
    found = shutil.which("stoker")
    if not found:
        raise StokerError("no stoker binary: set STOKER_BIN, put it on PATH, or run `make build`")
    return found


def _may_run(path: str) -> bool:
    """Whether a binary near this package may be run.

    If the package is in /tmp/stoker, anybody could have written /tmp/bin/stoker.
    """
    if os.name == "nt":  # owners and modes have no meaning there
        return True
    file, folder = os.stat(path), os.stat(os.path.dirname(path))
    owners = {0, os.geteuid(), os.stat(__file__).st_uid}
    shared = file.st_mode & 0o002 or (folder.st_mode & 0o002 and not folder.st_mode & stat.S_ISVTX)
    return {file.st_uid, folder.st_uid} <= owners and not shared


def _script_paths() -> list[str]:
    """Return where pip puts the binary: the scripts of this environment, or of this user."""
    schemes = sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")
    with _first_look:
        return [os.path.join(sysconfig.get_path("scripts", scheme), _NAME) for scheme in schemes]


def diagnose(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Say what starves the GPU in a recording."""
    return _call("diagnose", run)


def trace(
    *files: str | os.PathLike[str],
    top: int | None = None,
    by: str | None = None,
    shapes: bool = False,
    timeline: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Say where the idle time in a PyTorch profiler's trace came from. Several files are the ranks
    of one run.

    top, by ("gpu", "cpu" or "self") and shapes choose the rows of "operators"; timeline names a
    file to write for Perfetto.
    """
    flags = {"--top": top, "--by": by, "--timeline": timeline}
    given = [
        word
        for flag, value in flags.items()
        if value is not None
        for word in (flag, os.fspath(value) if flag == "--timeline" else str(value))
    ]
    return ask("trace", "--json", *given, *(["--shapes"] if shapes else []), "--", *map(os.fspath, files))


def advise(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Rank the fixes for a recording. They are in "plan"."""
    return _call("advise", run)


Run = str | os.PathLike[str]


def verify(before: Run | Sequence[Run], after: Run | Sequence[Run]) -> dict[str, Any]:
    """Compare two recordings, or several of each side. The answer is in "outcome" (docs/reference.md)."""
    sides = [[side] if isinstance(side, (str, os.PathLike)) else list(side) for side in (before, after)]
    return ask("verify", "--json", "--", *map(os.fspath, sides[0]), "--", *map(os.fspath, sides[1]))


def predict(**settings: Any) -> dict[str, Any]:
    """Say what a job needs from storage and CPU, without any run.

    Each setting is a flag of `stoker predict`: text as on the command line ("110KB", "2GB/s",
    "32..1024"), a number in base units (bytes, bytes per second, seconds; NumPy's too) or a
    quantity of pint, a list to sweep over, True to switch something on, None to leave it out. Names
    have underscores for dashes, and a final underscore if Python reserves the word: for_="95%"::

        stoker.predict(gpu="h100-sxm", model="resnet50", batch="32..1024",
                       sample="110KB", workers=8, cores=16, storage="nvme")

    count(model, sample) describes your own network. A measured step is carried over by
    measured="2,470 samples/s at batch 256 on a100-80gb-sxm" or like=RUN. The result of a sweep is
    in "sweep", and that of a target in "sizing".
    """
    settings = {
        name.rstrip("_"): bool(value) if type(value).__name__ in ("bool", "bool_") else value
        for name, value in settings.items()
    }
    flags = [_flag(name, value) for name, value in settings.items() if value is not None and value is not False]
    return ask("predict", "--json", *flags)


# The units of plain numbers, by setting.
_UNITS = {
    "flops": "FLOP",
    "grouped": "FLOP",
    "bytes": "B",
    "kept": "B",
    "sample": "B",
    "decoded": "B",
    "storage": "B/s",
    "cpu": "B/s",
    "link": "B/s",
    "network": "B/s",
    "checkpoint": "B/s",
    "step": "s",
    "prepare": "s",
    "hand_over": "s",
    "mtbf": "s",
    "price": "$/h",
    "grid": "gCO2/kWh",
}


def _flag(name: str, value: object) -> str:
    flag = "--" + name.replace("_", "-")
    return flag if value is True else f"{flag}={_setting(name, value)}"


def _setting(name: str, value: object) -> str:
    if isinstance(value, (list, tuple, range)) or getattr(value, "ndim", 0) == 1:
        return ",".join(_setting(name, item) for item in value)
    return in_units(name, value, _UNITS.get(name, ""))


def in_units(name: str, value: object, unit: str) -> str:
    """Return a setting as the command line takes it: text unchanged, numbers with a base unit.

    Numbers may be Python's, NumPy's, decimals, tensors with one element, or quantities of pint,
    which have their own unit.
    """
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    try:
        return f"{_number(value, unit)!r}{unit}"
    except Exception as error:  # pint raises many kinds of errors
        raise StokerError(
            f"{name} is {value!r}: expected a number{' of ' + unit if unit else ''}, or a text such as the "
            f"command line takes: {error}"
        ) from error


# pint's names of the base units
_PINT = {"B": "byte", "B/s": "byte/second", "s": "second", "": "dimensionless"}


def _number(value: Any, unit: str) -> int | float:
    """Return a plain number: a quantity of pint is converted to the unit, others are in it already."""
    if hasattr(value, "magnitude") and hasattr(value, "to"):
        if unit not in _PINT:
            raise TypeError("quantities with units are bytes, bytes per second or seconds")
        value = value.magnitude if value.unitless else value.to(_PINT[unit]).magnitude
    if isinstance(value, bool):
        raise TypeError("a truth value is not a number")
    try:
        return operator.index(value)
    except TypeError:
        return float(value)


def _call(verb: str, *runs: str | os.PathLike[str]) -> dict[str, Any]:
    return ask(verb, "--json", "--", *map(os.fspath, runs))


def ask(*arguments: str) -> dict[str, Any]:
    """Call the binary with arguments that make it print a JSON object."""
    command = [find_binary(), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise StokerError(f"run {command[0]}: {error}") from error
    if not done.stdout:
        raise StokerError(done.stderr.strip() or f"stoker {arguments[0]} ended with code {done.returncode}")
    return json.loads(done.stdout)
