#!/usr/bin/env python3
"""Holds `stoker trace` against bench/truth/labels.csv, which were written before any answer was seen.

    python3 bench/truth/exam.py FOLDER     FOLDER holds OWNER+NAME/repo, bare clones of the repositories

A class that the label accepts is right, unknown is unknown, everything else is wrong. "none" accepts an
answer that says that no work of a GPU was recorded. Advice that the label refuses makes an answer wrong.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STOKER = HERE.parents[1] / "bin" / "stoker"


def blob(folder, row):
    git = pathlib.Path(folder, row["repository"].replace("/", "+"), "repo")
    return subprocess.run(["git", "-C", git, "cat-file", "blob", row["blob"]], capture_output=True, check=True).stdout


def answer(path):
    done = subprocess.run([STOKER, "trace", "--json", path], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    return json.loads(done.stdout), ""


def advised(said):
    """Settings that the plan and the findings would have set."""
    found = set()
    for fix in said["plan"]:
        found |= {change["setting"] for change in fix["changes"]}
    for finding in said.get("findings") or []:
        found |= {change["setting"] for change in finding.get("changes") or []}
    return found


def judge(row, said):
    kind = said["verdict"]["class"]
    wrong = sorted(advised(said) & set(row["refused"].split()))
    if wrong:
        return "wrong", "advises " + ", ".join(wrong)
    accepted = row["accepted"].split("|")
    device = (said["shares"] or {}).get("kernel")
    if "none" in accepted and kind == "unknown" and not device:
        return "right", ""
    if kind == "unknown":
        return "unknown", ""
    if any(kind == name or kind.startswith(name + "/") for name in accepted):
        return "right", ""
    return "wrong", "accepted: " + row["accepted"]


def main(folder):
    counts = {}
    for row in csv.DictReader(open(HERE / "labels.csv")):
        with tempfile.NamedTemporaryFile(suffix=pathlib.Path(row["path"]).name) as file:
            file.write(blob(folder, row))
            file.flush()
            said, error = answer(file.name)
        if said is None:
            result, why, kind, idle = "refused", error, "", None
        else:
            result, why = judge(row, said)
            kind, idle = said["verdict"]["class"], said["verdict"].get("idle")
        counts[result] = counts.get(result, 0) + 1
        first = (said or {}).get("causes") or [{}]
        print(f"| {row['repository']} {row['path'].split('/')[-1][:40]} {row['blob'][:6]} | {row['ground']} | {kind} | "
              f"{'' if idle is None else f'{idle:.1%}'} {first[0].get('cause', '')} | {result} {why} |")
    print(counts)


if __name__ == "__main__":
    main(sys.argv[1])
