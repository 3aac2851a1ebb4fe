"""Makes a large Nsight Systems export of a small one: repeats the rows of its
event tables with later times and fresh ids, so that gaps, links and nesting stay
real.

    python3 bench/trace/nsight/repeat.py -o /tmp/big.sqlite --size 1e9 FILE

Every repetition begins where the one before it ended. Moved are start and end,
correlation ids, and the number in PyTorch's "aten::add, op_id = n". Tables of
names, enumerations and hardware are written once. Indices that somebody added to
FILE are left out: Nsight's own exports have none.
"""

import argparse
import os
import sqlite3

EVENTS = ("CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "OSRT_API", "SCHED_EVENTS", "PROFILER_OVERHEAD")
OP_ID = ", op_id = "


def columns(db, table):
    return [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]


def span(db, tables):
    """First start and last end of all events."""
    starts, ends = [], []
    for t in tables:
        if {"start", "end"} <= set(columns(db, t)):
            least, most = db.execute(f'SELECT min(start), max(max(end), max(start)) FROM "{t}"').fetchone()
            if least is not None:
                starts.append(least)
                ends.append(most if most is not None else least)
    return min(starts), max(ends)


def largest(db, tables):
    """Largest correlation id."""
    ids = [0]
    for t in tables:
        if "correlationId" in columns(db, t):
            ids.append(db.execute(f'SELECT max(correlationId) FROM "{t}"').fetchone()[0] or 0)
    return max(ids)


def moved(column):
    """SQL of a column in repetition k; t and c are what a repetition adds."""
    if column in ("start", "end"):
        return f'"{column}" + :t'
    if column == "correlationId":
        return f'"{column}" + :c'
    if column == "text":
        n = len(OP_ID)
        at = f"instr(text, '{OP_ID}')"
        return f"CASE WHEN {at} > 0 THEN substr(text, 1, {at} + {n - 1}) || (CAST(substr(text, {at} + {n}) AS INTEGER) + :k * 1000000) ELSE text END"
    return f'"{column}"'


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    args.add_argument("file")
    args.add_argument("-o", "--out", required=True)
    args.add_argument("--size", type=float, default=1e9, help="bytes of the file, about")
    a = args.parse_args()
    if os.path.exists(a.out):
        args.error(f"{a.out} exists")
    db = sqlite3.connect(a.out)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    source = sqlite3.connect(f"file:{os.path.abspath(a.file)}?mode=ro&immutable=1", uri=True)
    tables = source.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()
    events = []
    for name, sql in tables:
        db.execute(sql)
        marks = ",".join("?" * len(columns(source, name)))
        db.executemany(f'INSERT INTO "{name}" VALUES ({marks})', source.execute(f'SELECT * FROM "{name}"'))
        if name.startswith(EVENTS):
            events.append(name)
    db.commit()
    least, most = span(source, events)
    ids = largest(source, events) + 1
    for name in events:
        db.execute(f'CREATE TEMP TABLE "once_{name}" AS SELECT * FROM "{name}"')
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    page = db.execute("PRAGMA page_size").fetchone()[0]
    rows = sum(db.execute(f'SELECT count(*) FROM "{t}"').fetchone()[0] for t in events)
    per = max(1, os.path.getsize(a.file) * 0.9)
    times = max(0, round((a.size - pages * page) / per))
    for name in events:  # table by table, as Nsight writes them
        cols = columns(source, name)
        insert = f'INSERT INTO "{name}" SELECT {", ".join(moved(c) for c in cols)} FROM "once_{name}"'
        for k in range(1, times + 1):
            db.execute(insert, {"t": k * (most - least + 1000), "c": k * ids, "k": k})
    db.commit()
    db.close()
    print(f"{a.out}: {rows} events written {times + 1} times, {os.path.getsize(a.out) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
