"""`%%stoker` for notebooks: after `%load_ext stoker`, it runs the cell and shows a verdict.

`stoker observe --pid` samples the kernel from outside while the cell runs, and changes nothing in
it. What only the hook knows (steps, the device's clock) is missing unless the kernel was started
under `stoker observe`.
"""

from __future__ import annotations

import html
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._verbs import StokerError, ask, find_binary

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Verdict:
    """The verdict on a cell; `json` is the object of `stoker diagnose --json`."""

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json

    def rows(self) -> list[tuple[str, str]]:
        """Return the verdict as pairs of a name and a text."""
        verdict, step = self.json["verdict"], self.json["step"]
        rows = [
            ("verdict", verdict["class"]),
            ("waiting for input", _percent(verdict["stall"])),
            ("idle", _percent(verdict["idle"])),
        ]
        if step["count"]:
            rows.append(("step", f"{step['mean_s'] * 1000:.3g} ms, of {step['count']} steps"))
        rows += [
            ("slow line", f"{line['file']}:{line['line']} {line['function']} ({_percent(line['share']['point'])})")
            for line in (self.json["lines"] or [])[:3]
        ]
        for fix in self.json["plan"][:3]:
            gain = (fix["speedup"] or {}).get("point")
            rows.append(("fix", fix["title"] + (f": {gain:.2f}x" if gain else "")))
        return rows + [("note", text) for text in self.json["warnings"]]

    def __repr__(self) -> str:
        return "\n".join(f"{name:18} {value}" for name, value in self.rows())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td "
            f"style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table>{cells}</table>"


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def load(shell: InteractiveShell) -> None:
    """Register the magic with the shell."""

    def stoker(line: str, cell: str) -> Verdict:
        """Run the cell, and return its verdict."""
        if line.strip():
            raise StokerError(f"%%stoker takes nothing behind it, found {line.strip()!r}")
        return observe_work(lambda: shell.run_cell(cell))

    shell.register_magic_function(stoker, "cell")


def observe_work(work: Callable[[], object]) -> Verdict:
    """Run work while this process is observed, and return the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "run.jsonl.gz")
        command = [find_binary(), "observe", "--pid", str(os.getpid()), "-q", "-o", file]
        observer = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            while not os.path.exists(file) and observer.poll() is None:
                time.sleep(0.01)  # else a short cell would end before the observer starts
            work()
        finally:
            observer.terminate()  # a notebook's server is started in the background, where SIGINT is ignored
            said = observer.communicate()[1]
        if not os.path.exists(file):
            raise StokerError(said.strip() or "stoker observe recorded nothing")
        return Verdict(ask("diagnose", "--json", "--", file))
