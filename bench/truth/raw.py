#!/usr/bin/env python3
"""Counts the events of a profiler's file without Stoker: the ground of bench/truth's labels.

    python3 bench/truth/raw.py FILE...

It reads PyTorch's JSON (plain or gzip), Nsight Systems' SQLite export and XProf's protobuf. Device time is
the union of the intervals of all kernels and copies. A gap is named after what the host did in it.
"""

import collections
import gzip
import json
import re
import sqlite3
import sys

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "concurrent_kernel"}


def union(intervals):
    """The intervals, sorted and joined where they touch."""
    joined = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def covered_time(intervals):
    return sum(end - begin for begin, end in union(intervals))


def read_chrome(path):
    opener = gzip.open if open(path, "rb").read(2) == b"\x1f\x8b" else open
    with opener(path, "rt", errors="replace") as file:
        text = file.read()
    try:
        document = json.loads(text, strict=False)
    except ValueError:  # paths of Windows, written with single backslashes
        document = json.loads(re.sub(r'\\(?![\\/"bfnrt]|u[0-9a-fA-F]{4})', r"\\\\", text), strict=False)
    rows = document if isinstance(document, list) else document.get("traceEvents", [])
    # TensorFlow's timeline and rocprof name the device by the process of an event.
    processes = {str(row.get("pid")): str(row["args"].get("name")) for row in rows
                 if isinstance(row, dict) and row.get("name") == "process_name" and row.get("args")}
    device, host, copies = [], [], []
    for row in rows:
        if not isinstance(row, dict) or row.get("ph") != "X" or "ts" not in row:
            continue
        begin, length = float(row["ts"]) * 1e-6, float(row.get("dur") or 0) * 1e-6
        category, name = str(row.get("cat", "")).lower(), str(row.get("name", ""))
        process = processes.get(str(row.get("pid")), "")
        if "/stream" in process or re.fullmatch(r"GPU\d+", process):
            category = "kernel"
        elif process.endswith("/memcpy Compute") or process == "COPY":
            category = "memcpy"
        event = (begin, begin + length, name, category, row.get("args") or {})
        if category in DEVICE:
            device.append(event)
            if "mem" in category:
                copies.append(event)
        elif "gpu_user" not in category and category not in ("trace", "overhead"):
            host.append(event)
    return device, host, copies


def read_nsight(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = {name for (name,) in database.execute("select name from sqlite_master where type='table'")}
    strings = dict(database.execute("select id, value from StringIds")) if "StringIds" in tables else {}
    device, host, copies = [], [], []

    def rows(table, *columns):
        if table not in tables:
            return
        present = {row[1] for row in database.execute(f"pragma table_info({table})")}
        chosen = [column if column in present else "null" for column in columns]
        yield from database.execute(f"select {','.join(chosen)} from {table}")

    for begin, end, name in rows("CUPTI_ACTIVITY_KIND_KERNEL", "start", "end", "shortName"):
        device.append((begin * 1e-9, end * 1e-9, str(strings.get(name, name)), "kernel", {}))
    for begin, end, size in rows("CUPTI_ACTIVITY_KIND_MEMCPY", "start", "end", "bytes"):
        event = (begin * 1e-9, end * 1e-9, "copy", "memcpy", {"bytes": size})
        device.append(event)
        copies.append(event)
    for begin, end in rows("CUPTI_ACTIVITY_KIND_MEMSET", "start", "end"):
        device.append((begin * 1e-9, end * 1e-9, "set", "memset", {}))
    for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"):
        for begin, end, name in rows(table, "start", "end", "nameId"):
            host.append((begin * 1e-9, end * 1e-9, str(strings.get(name, name)), "runtime", {}))
    for begin, end, name, text in rows("NVTX_EVENTS", "start", "end", "textId", "text"):
        if end:
            host.append((begin * 1e-9, end * 1e-9, text or str(strings.get(name, name)), "nvtx", {}))
    return device, host, copies


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Field numbers and values of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = 8 if key & 7 == 1 else 4
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def read_xplane(path):
    """Events of all planes: those of /device: planes are the device's, the rest the host's."""
    device, host, copies = [], [], []
    for number, plane in fields(open(path, "rb").read()):
        if number != 1:
            continue
        name, names, lines = "", {}, []
        for field, value in fields(plane):
            if field == 2:
                name = value.decode(errors="replace")
            elif field == 3:
                lines.append(value)
            elif field == 4:
                entry = dict(fields(value))
                names[entry.get(1, 0)] = dict(fields(entry.get(2, b""))).get(2, b"").decode(errors="replace")
        of_device = name.startswith("/device:") and "CUSTOM" not in name
        for line in lines:
            about = list(fields(line))
            start = next((v for f, v in about if f == 3), 0)
            title = next((v for f, v in about if f == 2), b"").decode(errors="replace")
            if of_device and not title.startswith("Stream"):
                continue
            for field, value in about:
                if field != 4:
                    continue
                event = dict(fields(value))
                begin = start * 1e-9 + event.get(2, 0) * 1e-12
                row = (begin, begin + event.get(3, 0) * 1e-12, names.get(event.get(1, 0), "?"), title, {})
                (device if of_device else host).append(row)
                if of_device and "memcpy" in row[2].lower():
                    copies.append(row)
    return device, host, copies


def read(path):
    head = open(path, "rb").read(16)
    if head.startswith(b"SQLite"):
        return read_nsight(path)
    if head.lstrip()[:1] in (b"{", b"[") or head[:2] == b"\x1f\x8b":
        return read_chrome(path)
    return read_xplane(path)


def most(events, count=6):
    seconds, number = collections.Counter(), collections.Counter()
    for begin, end, name, *_ in events:
        seconds[name] += end - begin
        number[name] += 1
    return [f"{number[name]} x {name[:70]} = {value * 1e3:.3f} ms" for name, value in seconds.most_common(count)]


def report(path):
    device, host, copies = read(path)
    print(f"== {path}")
    both = device + host
    if not both:
        print("no events")
        return
    first, last = min(e[0] for e in both), max(e[1] for e in both)
    print(f"all events: {last - first:.6f} s, host events {len(host)}, device events {len(device)}")
    if device:
        begin, end = min(e[0] for e in device), max(e[1] for e in device)
        joined = union([e[:2] for e in device])
        kernels = [e[:2] for e in device if e not in copies] if len(device) < 3000 else [
            e[:2] for e in device if e[3] not in ("gpu_memcpy", "memcpy", "gpu_memset", "memset")]
        print(f"first device event after {begin - first:.6f} s; from first to last {end - begin:.6f} s, "
              f"busy {covered_time(joined) / max(end - begin, 1e-12):.1%}, kernels {covered_time(kernels) / max(end - begin, 1e-12):.1%}")
        print("device:", "; ".join(most(device, 8)))
        exchanged = [e for e in device if "nccl" in e[2].lower() or "rccl" in e[2].lower()]
        if exchanged:
            print("collectives:", "; ".join(most(exchanged, 4)))
        gaps = sorted(((b[0] - a[1], a[1], b[0]) for a, b in zip(joined, joined[1:])), reverse=True)
        print("gaps:", ", ".join(f"{g * 1e3:.3f}" for g, _, _ in gaps[:12]), "ms; sum", f"{sum(g for g, _, _ in gaps) * 1e3:.3f} ms")
        for gap, start, stop in gaps[:4]:
            inside = [(min(e[1], stop) - max(e[0], start), e[2]) for e in host if e[0] < stop and e[1] > start]
            inside.sort(reverse=True)
            print(f"  gap {gap * 1e3:.3f} ms at {start - first:.6f}:", "; ".join(f"{n[:60]} {s * 1e3:.3f}" for s, n in inside[:6]))
    print("host:", "; ".join(most(host, 10)))
    for word in ("ProfilerStep", "DataLoader", "Optimizer", "Backward", "autograd::engine", "nccl", "aten::", "StreamSynchronize", "DeviceSynchronize", "item"):
        hits = [e for e in host if word in e[2]]
        if hits:
            print(f"  {word}: {len(hits)} in {covered_time([e[:2] for e in hits]) * 1e3:.3f} ms")
    if copies:
        size = sum(float(e[4].get("bytes") or 0) for e in copies)
        print(f"copies: {len(copies)}, {size / 1e6:.3f} MB, {covered_time([e[:2] for e in copies]) * 1e3:.3f} ms")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        report(name)
