#!/usr/bin/env python3
"""Measures what recording a call of Python with its stack takes the host: the same calls with and without with_stack=True.

    python/.venv/bin/python bench/trace/frames.py
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile


def leaf(x: int) -> int:
    return x + 1


def functions() -> None:
    """100,000 calls of functions that do nothing."""
    x = 0
    for _ in range(100_000):
        x = leaf(x)


MODEL = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(8)])
INPUT = torch.randn(2, 4)


def modules() -> None:
    """4,000 small modules."""
    for _ in range(500):
        MODEL(INPUT)


def time_under_profiler(work: Callable[[], None], stacks: bool) -> tuple[float, int]:
    """Seconds of some work under the profiler, and the frames that were recorded."""
    with profile(activities=[ProfilerActivity.CPU], with_stack=stacks) as p:
        begun = time.perf_counter()
        work()
        took = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        p.export_chrome_trace(str(file))
        events = json.loads(file.read_text())["traceEvents"]
    return took, sum(e.get("cat") == "python_function" for e in events)


if __name__ == "__main__":
    for what in (functions, modules):
        for _ in range(3):
            without, _ = time_under_profiler(what, False)
            took, frames = time_under_profiler(what, True)
            print(f"{what.__name__}: {1e9 * (took - without) / frames:.0f} ns a call ({frames} calls)")
