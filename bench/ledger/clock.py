"""The independent clock of a script: seconds of each row of its time, by time.perf_counter alone.

A script says which row begins. The time before the first one is the start-up, the time after the last one the tail.
The shell that starts the script (ledger.py) takes the times of its start and end, as no script sees its own.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

UNTIL = None  # time.time() at which the loop ends, from the first question on
_shift = time.time() - time.perf_counter()
_marks: list[tuple[str, float]] = []


def now() -> float:
    return time.perf_counter() + _shift


def begin(row: str, at: float | None = None) -> None:
    """From now on, or from that time, time belongs to this row."""
    if not _marks or _marks[-1][0] != row:
        _marks.append((row, now() if at is None else at))


def asks(loader: Iterable) -> Iterator:
    """The loader's batches. An epoch ends when the loop asks for a batch that does not come: workers end meanwhile."""
    batches = iter(loader)
    while True:
        asked = now()
        try:
            batch = next(batches)
        except StopIteration:
            begin("epoch-edge", asked)
            return
        yield batch


@contextmanager
def within(row: str) -> Iterator[None]:
    """Time inside belongs to this row, and what follows to the one before."""
    before = _marks[-1][0] if _marks else "start-up"
    begin(row)
    try:
        yield
    finally:
        begin(before)


def goes_on() -> bool:
    global UNTIL
    if UNTIL is None:
        UNTIL = time.time() + float(os.environ.get("SECONDS_EACH", "12"))
    return time.time() < UNTIL


def write() -> None:
    """Write the marks of this rank where ledger.py reads them."""
    with open(f"{os.environ['CLOCK_FILE']}{os.environ.get('RANK', '0')}", "w") as file:
        json.dump(_marks, file)


def add_up(marks: list, start: float, end: float) -> dict[str, float]:
    """Seconds by row."""
    rows: dict[str, float] = defaultdict(float)
    row, at = "start-up", start
    for next_row, moment in marks:
        rows[row] += moment - at
        row, at = next_row, moment
    rows[row] += end - at
    return dict(rows)
