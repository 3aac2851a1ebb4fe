"""The verbs: each calls the binary and returns its JSON object as a dict.

The fields are those of the command line's --json and always mean the same;
unknown is None.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any


class StokerError(RuntimeError):
    """The binary is missing or refused; the message is its own sentence."""


def find_binary() -> str:
    """Path of the stoker binary: STOKER_BIN, else bin/ of this checkout, else PATH."""
    named = os.environ.get("STOKER_BIN")
    if named:
        return named
    here = os.path.dirname(os.path.abspath(__file__))
    for beside in (os.path.join(here, "stoker"), os.path.join(here, "..", "..", "bin", "stoker")):
        if os.access(beside, os.X_OK) and os.path.isfile(beside):
            return os.path.normpath(beside)
    found = shutil.which("stoker")
    if not found:
        raise StokerError("no stoker binary: set STOKER_BIN, put it on PATH, or run `make build`")
    return found


def diagnose(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Say what starves the GPU in a recording."""
    return _call("diagnose", run)


def advise(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Rank the fixes for a recording; they stand in "plan"."""
    return _call("advise", run)


def verify(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> dict[str, Any]:
    """Compare two recordings; the answer stands in "outcome"."""
    return _call("verify", before, after)


def _call(verb: str, *runs: str | os.PathLike[str]) -> dict[str, Any]:
    command = [find_binary(), verb, "--json", "--", *map(os.fspath, runs)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise StokerError(f"run {command[0]}: {error}") from error
    if not done.stdout:
        raise StokerError(done.stderr.strip() or f"stoker {verb} ended with code {done.returncode}")
    return json.loads(done.stdout)
