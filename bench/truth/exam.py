#!/usr/bin/env python3
"""Holds `stoker trace` against labels that were written before any answer was seen.

    python3 bench/truth/exam.py FOLDER LABELS [--before NAME=STOKER]...
    python3 bench/truth/exam.py --matrix < bench/truth/RESULTS.md

FOLDER holds OWNER+NAME/repo, bare clones of the repositories; LABELS is fresh.csv or labels.csv next to
this file. A class that the label accepts is right, unknown is unknown, everything else is wrong. "none"
accepts an answer that says that no work of a GPU was recorded, "refused" one that says that the file is
not read. Advice that the label refuses makes an answer wrong. --before prints an older binary's answer
as well. --matrix makes a table by class of the tables that are there, for bench/accuracy.
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STOKER = HERE.parents[1] / "bin" / "stoker"


def blob(folder, row):
    git = pathlib.Path(folder, row["repository"].replace("/", "+"), "repo")
    return subprocess.run(["git", "-C", git, "cat-file", "blob", row["blob"]], capture_output=True, check=True).stdout


def answer(path, stoker=None):
    done = subprocess.run([stoker or STOKER, "trace", "--json", path], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[0].split(": ")[-1]
    return json.loads(done.stdout), ""


def advised_settings(said):
    """Settings that the plan and the findings would have set."""
    found = set()
    for fix in said["plan"]:
        found |= {change["setting"] for change in fix["changes"]}
    for finding in said.get("findings") or []:
        if finding.get("denied"):  # named only to say why not
            continue
        found |= {change["setting"] for change in finding.get("changes") or []}
    return found


def judge(row, said):
    accepted = row["accepted"].split("|")
    if said is None:
        return "right" if "refused" in accepted else "refused", ""
    kind = said["verdict"]["class"]
    wrong = sorted(advised_settings(said) & set(row["refused"].split()))
    if wrong:
        return "wrong", "advises " + ", ".join(wrong)
    device = (said["shares"] or {}).get("kernel")
    if "none" in accepted and kind == "unknown" and not device:
        return "right", ""
    if kind == "unknown":
        return "unknown", ""
    if any(kind == name or kind.startswith(name + "/") for name in accepted):
        return "right", ""
    return "wrong", "accepted: " + row["accepted"]


def describe(said, error):
    """The class, and what the plan promises."""
    if said is None:
        return "refused: " + error[:60]
    fixes = []
    for fix in said["plan"]:
        point, high = fix["speedup"]["point"], fix["speedup"]["high"]
        fixes.append(f"{fix['fix']} {point:.2f}x" if point else f"{fix['fix']} at most {high:.2f}x")
    return said["verdict"]["class"] + (": " + ", ".join(fixes) if fixes else "")


def ask(folder, row, binaries):
    with tempfile.NamedTemporaryFile(suffix=pathlib.Path(row["path"]).name) as file:
        file.write(blob(folder, row))
        file.flush()
        return [answer(file.name, binary) for binary in binaries]


def matrix(page):
    """Answers by label, of the tables that this script printed."""
    out = ["| files | label | n | right | answered instead |", "|---|---|---|---|---|"]
    titles = {"fresh.csv": "the exam, mended since", "labels.csv": "of earlier rules"}
    for name, table in re.findall(r"<!-- exam.py (\S+) -->\n(.*?)<!-- end -->", page, re.S):
        found = {}
        for line in table.splitlines():
            cells = line.strip("| ").split(" | ")
            if len(cells) >= 3 and (said := re.match(r"([a-z/-]+).*?\*\*(\w+)\*\*", cells[-2])) and cells[-1].startswith("`"):
                label = re.match(r"`([^`]+)`", cells[-1])[1]
                found.setdefault(label, []).append((said[1], said[2]))
        for label, answers in sorted(found.items()):
            wrong = [f"{said}: {result}" for said, result in answers if result != "right"]
            out.append(f"| {titles.get(name, name)} | {label} | {len(answers)} | {len(answers) - len(wrong)} | {', '.join(wrong)} |")
    return "\n".join(out)


def main():
    if sys.argv[1:] == ["--matrix"]:
        print(matrix(sys.stdin.read()))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("labels")
    parser.add_argument("--before", action="append", default=[], metavar="NAME=STOKER")
    options = parser.parse_args()
    binaries = dict(before.split("=", 1) for before in options.before) | {"now": STOKER}
    counts = {name: {} for name in binaries}
    with open(options.labels) as labels:
        rows = list(csv.DictReader(labels))
    print("| file | " + " | ".join(binaries) + " | the label, and what it rests on |\n|" + "---|" * (len(binaries) + 2))
    for row in rows:
        cells = []
        for name, (said, error) in zip(binaries, ask(options.folder, row, binaries.values())):
            result, why = judge(row, said)
            counts[name][result] = counts[name].get(result, 0) + 1
            cells.append(f"{describe(said, error)}: **{result}**" + (f" ({why})" if why else ""))
        cells.append(f"`{row['accepted'].replace('|', '`, `')}`: {row['ground']}")
        print(f"| {row['repository']} {row['path'].split('/')[-1][:28]} {row['blob'][:6]} | " + " | ".join(cells) + " |")
    for name, count in counts.items():
        print(f"\n{name}, n {len(rows)}: " + ", ".join(f"{count.get(kind, 0)} {kind}" for kind in ("right", "wrong", "unknown", "refused")))


if __name__ == "__main__":
    main()
