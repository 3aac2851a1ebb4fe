#!/usr/bin/env python3
"""Step times that others published, in repositories that no table of predict holds.

second.csv was committed before any of its rows was asked for. This script asks
bin/stoker for each row with what its source states, and prints how far off the
answer is, by family and by repository. Nothing is fitted here. fresh.csv was the
first exam: its rows are learnt since, so it no longer counts as one.

A figure is for one step of one GPU: batch over samples a second and GPU. The
answer is the stage "compute" and, with several GPUs, what of "sync" does not
hide. Error is |predicted / published - 1|. "Inside" says that the published
step lies between the ends that the command prints. A row with a mark was misread,
as its answer showed: it stays in every table, and one line leaves the marked out. Rows "second" are what
the same tables hold besides: written down after the first were answered, so that
the tables are of the first, and separate lines give both.

    python3 bench/published/fresh.py [--rows second.csv] [--stoker bin/stoker] [--out rows.csv]
"""

import argparse
import csv
import json
import statistics
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def published_step(row):
    """The published step in seconds."""
    value, batch, gpus = float(row["value"]), int(row["batch"]), int(row["gpus"])
    if row["unit"] == "ms":
        return value / 1000
    rate = value
    if row["unit"].startswith("tokens"):
        rate /= int(row["tokens"])
    if not row["unit"].endswith("/gpu"):
        rate /= gpus
    return batch / rate


def ask(stoker, row):
    """What stoker says: low, point, high in seconds, or the reason why not."""
    command = [stoker, "predict", "--json", "--gpu", row["gpu"], "--model", row["network"], "--batch", row["batch"]]
    if row["task"] == "inference":
        command.append("--inference")
    if row["recompute"]:
        command.append("--recompute")
    for name in ("precision", "software", "tokens", "shard"):
        if row[name]:
            command += ["--" + name, row[name]]
    if row["gpus"] != "1":
        command += ["--gpus", row["gpus"]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[0]
    ends = {"low": 0.0, "point": 0.0, "high": 0.0}
    for stage in json.loads(done.stdout)["stages"]:
        if stage["stage"] in ("compute", "sync") and stage["time_s"]:
            for end in ends:
                ends[end] += stage["time_s"][end]
    return ends, ""


def percentile(values, share):
    """The value that a share of all does not exceed (nearest rank)."""
    values = sorted(values)
    return values[max(0, -(-int(share * 1000) * len(values) // 1000) - 1)]


def line(name, rows):
    """One line of a table about answered rows."""
    errors = [r["error"] for r in rows]
    return [name, str(len({r["repository"] for r in rows})), str(len(rows)), f"{100 * statistics.median(errors):.0f} %",
            f"{100 * percentile(errors, 0.8):.0f} %", f"{100 * sum(r['inside'] for r in rows) / len(rows):.0f} %",
            f"{statistics.median(r['ratio'] for r in rows):.2f}", f"x{statistics.median(r['width'] for r in rows):.2f}"]


def table(head, lines):
    """A Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for cells in lines:
        print("| " + " | ".join(cells) + " |")
    print()


def groups(rows, key):
    """Rows by a key, in the order of their first appearance."""
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def main():
    parser = argparse.ArgumentParser(description="Ask bin/stoker for published step times that no table holds.")
    parser.add_argument("--stoker", default=str(HERE.parent.parent / "bin" / "stoker"), help="the binary that is asked")
    parser.add_argument("--rows", default="second.csv", help="the figures, a file beside this script")
    parser.add_argument("--out", help="write each row's answer here as CSV")
    flags = parser.parse_args()
    rows, refused = [], []
    with open(HERE / flags.rows, newline="", encoding="utf-8") as file:
        every = list(csv.DictReader(file))
    for number, row in enumerate(every, start=2):
        row["line"] = number
        ends, why = ask(flags.stoker, row)
        row["published"] = published_step(row)
        if ends is None:
            refused.append((row, why))
            continue
        row.update(ends)
        row["ratio"] = row["point"] / row["published"]
        row["error"] = abs(row["ratio"] - 1)
        row["inside"] = row["low"] <= row["published"] <= row["high"]
        row["width"] = row["high"] / row["low"]
        rows.append(row)

    both, second = rows, [r for r in rows if r["added"] == "second"]
    rows = [r for r in rows if r["added"] == "first"]
    asked = [r for r in every if r["added"] == "first"]
    head = ["", "repositories", "figures", "median error", "80 % within", "inside", "predicted / published, median", "width"]
    print(f"first: {len(asked)} figures of {len({r['repository'] for r in asked})} repositories, "
          f"{sum(r['added'] == 'first' for r, _ in refused)} refused")
    if second:
        print(f"second: {len(every) - len(asked)} figures, {sum(r['added'] == 'second' for r, _ in refused)} refused")
    print()
    kinds = groups(sorted(rows, key=lambda r: r["task"], reverse=True), lambda r: r["task"])
    lines = [line("all", rows)]
    lines += [line("all but the marked", [r for r in rows if not r["mark"]])] if any(r["mark"] for r in rows) else []
    lines += [line(name, kind) for name, kind in kinds.items()]
    lines += [line(f"{name[0]}, {name[1]}", kind)
              for name, kind in sorted(groups(rows, lambda r: (r["network"], r["task"])).items())]
    lines += [line("the second", second), line("both", both)] if second else []
    table(["family"] + head[1:], lines)
    lines = [line(name or "not named", kind) for name, kind in sorted(groups(rows, lambda r: r["software"]).items())]
    table(["software"] + head[1:], lines)
    each = groups(rows, lambda r: r["repository"])
    whole = groups(both, lambda r: r["repository"])
    table(["repository"] + head[1:], [line(name, kind) for name, kind in each.items()])
    for name, kinds in (("each repository as one", each), ("and with the second", whole))[:2 if second else 1]:
        medians = [statistics.median(r["error"] for r in kind) for kind in kinds.values()]
        inside = [statistics.mean(r["inside"] for r in kind) for kind in kinds.values()]
        print(f"{name}: median error {100 * statistics.median(medians):.0f} %, "
              f"80 % within {100 * percentile(medians, 0.8):.0f} %, inside {100 * statistics.mean(inside):.0f} %")
    print("\nmisses beyond 2x:")
    for r in both:
        if not 0.5 <= r["ratio"] <= 2:
            print(f"  line {r['line']}: {r['network']} {r['task']} {r['gpu']} {r['precision']} {r['software']} batch {r['batch']}"
                  f"{' tokens ' + r['tokens'] if r['tokens'] else ''}: published {1000 * r['published']:.2f} ms, predicted "
                  f"{1000 * r['point']:.2f} ({1000 * r['low']:.2f} to {1000 * r['high']:.2f}), {r['ratio']:.2f}x, {r['repository']}"
                  f"{', marked' if r['mark'] else ''}")
    near = [r for r in both if not r["inside"] and 0.5 <= r["ratio"] <= 2]
    print("outside of the interval, within 2x: "
          + (", ".join(f"line {r['line']} {r['ratio']:.2f}x" for r in near) or "none"))
    print("refused:")
    for row, why in refused:
        print(f"  line {row['line']}: {row['network']} {row['task']} {row['gpu']} {row['precision']} batch {row['batch']}: "
              + why.removeprefix("stoker: error: "))
    if flags.out:
        names = list(every[0])[:list(every[0]).index("line")] + ["published", "low", "point", "high", "ratio", "inside"]
        with open(flags.out, "w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
            out.writeheader()
            out.writerows(both)


if __name__ == "__main__":
    main()
