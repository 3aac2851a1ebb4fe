#!/usr/bin/env python3
"""What loaders do when something breaks: one damaged file among 128, and a worker that is killed.

    python3 bench/loader/failures.py            # about 6 minutes
    python3 bench/loader/failures.py --only stoker torch-v2

Each case is a fresh process tree with the contestant's own defaults. What counts
is what a user sees: does it continue or end, after how long, and does its
message name the file. "Silent" is: all pictures are delivered, the damaged one
among them, and nothing is said. The killed process is the one that has done most
work besides the trainer: a DataLoader worker, or our daemon.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import account
import loaders
from contestants import BY_NAME, CONTESTANTS, Contestant, Job

IMAGES, BATCH = 128, 64
DAMAGED = 37  # the number of the damaged picture
LIMIT = 60.0  # seconds after which a contestant hangs


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def empty(_: bytes) -> bytes:
    return b""


def noise(data: bytes) -> bytes:
    """Random bytes in the middle of the scan."""
    middle = len(data) // 2
    return data[:middle] + random.Random(0).randbytes(2000) + data[middle + 2000 :]


DAMAGES = {"cut in half": cut, "0 bytes": empty, "2,000 random bytes in the scan": noise}
KILLED = "a worker is killed"


def with_damage(contestant: Contestant, files: list[Path], damage, scratch: Path) -> str:
    """What a contestant makes of a set with a damaged file."""
    with loaders.one_folder_each(files, scratch) as root, tempfile.TemporaryDirectory(dir=scratch) as own:
        [victim] = sorted(root.iterdir())[DAMAGED].iterdir()
        data = victim.read_bytes()
        victim.unlink()  # a link: the set itself stays whole
        victim.write_bytes(damage(data))
        job = Job(str(root), own, IMAGES, 1, BATCH)
        if failed := loaders.prepare(contestant, job, LIMIT):
            return f"its writer fails: {failed}"
        return outcome(loaders.run(contestant, job, LIMIT), victim)


def outcome(run: loaders.Run, victim: Path) -> str:
    named = "names the file" if str(victim) in run.said or f"{victim.parent.name}/{victim.name}" in run.said else "the file is not named"
    if run.failed.startswith("ended after"):
        return f"hangs for {LIMIT:.0f} s and more, {named}"
    if run.failed:
        return f"ends, {named}"
    if not run.once:
        return f"leaves it out, {named}"
    return "silent" if named != "names the file" else f"goes on, {named}"


def with_kill(contestant: Contestant, files: list[Path], scratch: Path) -> str:
    """What a contestant makes of the death of its hardest worker."""
    killed_at = []

    def kill(group: account.Group, main: int) -> None:
        if others := [pid for pid in group.processes() if pid != main]:
            os.kill(max(others, key=account.cpu_of), signal.SIGKILL)
            killed_at.append(time.monotonic())

    with loaders.one_folder_each(files, scratch) as root, tempfile.TemporaryDirectory(dir=scratch) as own:
        job = Job(str(root), own, IMAGES, 40, BATCH)
        if failed := loaders.prepare(contestant, job, LIMIT):
            return f"its writer fails: {failed}"
        run = loaders.run(contestant, job, LIMIT, kill)
    if not killed_at:
        return "has no other process" if not run.failed else f"fails: {run.failed}"
    after = f"after {time.monotonic() - killed_at[0]:.1f} s"
    if run.failed.startswith("ended after"):
        return "hangs"
    if run.failed:
        return f"ends {after}: {run.failed[:100]}".replace("|", "/")
    return "goes on, all delivered" if run.once else "goes on, pictures are missing or twice"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=loaders.ROOT / "data/reference")
    # Decoding is what meets the damage.
    names = [contestant.name for contestant in CONTESTANTS if contestant.decodes]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between this script's marks in the document")
    arguments = parser.parse_args()
    loaders.take_along()
    place = loaders.Place(arguments.markdown, "failures.py")
    files, scratch = loaders.pictures(arguments.data, IMAGES), loaders.scratch_of(arguments.data)
    cases = [*DAMAGES, KILLED]
    lines = [f"| loader | {' | '.join(cases)} |", "|---" * (len(cases) + 1) + "|"]
    for name in arguments.only:
        contestant = BY_NAME[name]
        if failed := loaders.missing(contestant):
            cells = [failed] * len(cases)
        else:
            cells = [with_damage(contestant, files, damage, scratch) for damage in DAMAGES.values()]
            cells.append(with_kill(contestant, files, scratch))
        print(f"failures: {name}: {'; '.join(cells)}", file=sys.stderr, flush=True)
        lines.append("| " + " | ".join([contestant.title, *cells]) + " |")
    text = "\n".join(lines)
    print(text)
    place.put(text)


if __name__ == "__main__":
    main()
