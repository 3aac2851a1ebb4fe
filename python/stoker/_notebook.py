"""`%%stoker` for notebooks: `%load_ext stoker`, then the cell runs as it is and its verdict is a table.

`stoker observe --pid` looks at the kernel from outside while the cell runs; nothing is put into it. So what only the
hook sees (steps, the device's clock) is known where the kernel was itself started under `stoker observe`.
"""

from __future__ import annotations

import html
import os
import subprocess
import tempfile
import time
from typing import Any

from ._verbs import StokerError, ask, find_binary


class Verdict:
    """What a cell was bound by; `json` is the object of `stoker diagnose --json`."""

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json

    def rows(self) -> list[tuple[str, str]]:
        """What is known, in words."""
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


def load(shell: Any) -> None:
    """Give the shell its magic."""

    def stoker(line: str, cell: str) -> Verdict:
        """Run the cell, and say what it was bound by."""
        if line.strip():
            raise StokerError(f"%%stoker takes nothing behind it, found {line.strip()!r}")
        return observed(lambda: shell.run_cell(cell))

    shell.register_magic_function(stoker, "cell")


def observed(work: Any) -> Verdict:
    """Have this process observed while something is done."""
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
                time.sleep(0.01)  # a short cell would be over before anybody looks
            work()
        finally:
            observer.terminate()  # SIGINT is ignored in what a shell started in the background, as a notebook's server
            said = observer.communicate()[1]
        if not os.path.exists(file):
            raise StokerError(said.strip() or "stoker observe recorded nothing")
        return Verdict(ask("diagnose", "--json", "--", file))
