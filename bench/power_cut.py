#!/usr/bin/env python3
"""What remains of a recording after a power cut. A FUSE file system logs all writes, and cuts are simulated at random moments.

    apt-get install fuse3; python3 -m venv /tmp/fuse; /tmp/fuse/bin/pip install mfusepy==3.1.1
    /tmp/fuse/bin/python bench/power_cut.py --cuts 2000

`stoker observe` records a loop of 100 steps a second on that file system, then `stoker runs trim` rewrites the file. A cut can be at any moment.
Synced data, and data older than --writeback seconds, are on the disk. Of later writes, each block of 512 or 4,096 bytes is written or missing, in any
order. If a file was growing, missing blocks are zeros, or the file is shorter. Renames are in order, as in the journal of ext4 or XFS, and as late as
possible. Then `stoker runs check` reads the files. It must read at least the steps of all complete members (a second each), or say why it cannot if not
even the first member is complete. Otherwise the exit code is 1.
"""

import argparse
import errno
import os
import random
import re
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import mfusepy

ROOT = Path(__file__).resolve().parents[1]

LOOP = """
import time, torch
from torch.utils.data import DataLoader
began = time.monotonic()
for n, _ in enumerate(DataLoader(range(1 << 30), sampler=range({steps}), batch_size=1, num_workers=0)):
    time.sleep(max(0, began + n / 100 - time.monotonic()))
"""


class Disk(mfusepy.Operations):
    """One folder of files in memory. log has all calls: (when, what, file or name, position or name, bytes)."""

    def __init__(self):
        self.names, self.files, self.log = {}, {}, []
        self.guard = threading.Lock()

    def note(self, what, file, *more):
        self.log.append((time.monotonic(), what, file, *more))

    def data(self, path):
        if path not in self.names:
            raise mfusepy.FuseOSError(errno.ENOENT)
        return self.files[self.names[path]]

    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2, "st_uid": os.getuid()}
        size = len(self.files[fh] if fh else self.data(path))
        return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": size, "st_uid": os.getuid(), "st_ino": fh or self.names[path], "st_mtime": time.time()}

    def readdir(self, path, fh):
        return [".", "..", *(name[1:] for name in self.names)]

    def create(self, path, mode, fi=None):
        with self.guard:
            file = len(self.files) + 1
            self.names[path], self.files[file] = file, bytearray()
            self.note("create", file, path)
            return file

    def open(self, path, flags):
        self.data(path)
        return self.names[path]

    def read(self, path, size, offset, fh):
        return bytes(self.files[fh][offset : offset + size])

    def write(self, path, data, offset, fh):
        with self.guard:
            place(self.files[fh], offset, data)
            self.note("write", fh, offset, bytes(data))
            return len(data)

    def truncate(self, path, length, fh=None):
        with self.guard:
            fh = fh or self.names[path]
            resize(self.files[fh], length)
            self.note("truncate", fh, length)

    def fsync(self, path, datasync, fh):
        with self.guard:
            self.note("sync", fh)
        return 0

    def rename(self, old, new):
        with self.guard:
            self.names[new] = self.names.pop(old)
            self.note("rename", old, new)

    def unlink(self, path):
        with self.guard:
            self.data(path)
            del self.names[path]
            self.note("unlink", path)


def place(file, offset, data):
    if len(file) < offset:
        resize(file, offset)
    file[offset : offset + len(data)] = data


def resize(file, length):
    del file[length:]
    file.extend(bytes(length - len(file)))


def after_cut(log, chance, writeback):
    """Return the names and files after a cut at a random moment, and the written members of each file."""
    trim = next(i for i, op in enumerate(log) if op[1] == "create" and op[3].endswith(".trim"))
    end = chance.choice([chance.randrange(1, trim + 1), chance.randrange(trim, len(log) + 1)])  # half of the cuts in each part
    now, block = log[end - 1][0], chance.choice([512, 4096])
    ops = log[:end]
    old = sum(op[0] < now - writeback for op in ops)
    synced, journal = defaultdict(int), old
    for i, op in enumerate(ops):
        if op[1] == "sync":
            synced[op[2]], journal = i, max(journal, i)
    named = chance.randrange(journal, end + 1)
    names, files, members = {}, defaultdict(bytearray), defaultdict(list)
    for i, (_, what, file, *more) in enumerate(ops):
        kept = i < max(old, synced[file] if isinstance(file, int) else 0)
        if what == "create" and i < named:
            names[more[0]] = file
        elif what == "rename" and i < named and file in names:
            names[more[0]] = names.pop(file)
        elif what == "unlink" and i < named:
            names.pop(file, None)
        elif what == "truncate" and (kept or i < named):
            resize(files[file], more[0])
        elif what == "write":
            members[file].append((more[0], more[1]))
            write_blocks(files[file], *more, block, lambda: kept or chance.random() < 0.5)
    return names, files, members


def write_blocks(file, offset, data, block, there):
    """Write the given blocks of the data. Missing ones before the end are zeros, as if the size had been journalled first."""
    at = 0
    while at < len(data):
        size = min(block - (offset + at) % block, len(data) - at)
        if there():
            place(file, offset + at, data[at : at + size])
        at += size


def whole_steps(file, writes):
    """Return the number of steps in complete members of a file, and whether the first is complete. Python's zlib finds the members."""
    content = bytearray()
    for offset, data in writes:
        place(content, offset, data)
    at, steps, first = 0, 0, False
    while at < len(content):
        unpack = zlib.decompressobj(31)
        text = unpack.decompress(bytes(content[at:]))
        end = len(content) - len(unpack.unused_data)
        if unpack.eof and file[at:end] == content[at:end]:
            first = first or at == 0
            steps += text.count(b'"kind":"step"')
        at = end
    return steps, first


def record(disk, stoker, python, folder, seconds):
    """Run the loop on the file system."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "STOKER_EMULATE": ""}
    path = f"{folder}/run.jsonl.gz"
    loop = LOOP.format(steps=100 * seconds)
    subprocess.run([stoker, "observe", "-o", path, "--", python, "-c", loop], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(subprocess.run([stoker, "runs", "check", path], capture_output=True, text=True, check=True).stdout.strip())
    subprocess.run([stoker, "runs", "trim", "--most", "1kB", path], check=True)


def held(stoker, file, folder):
    """Return the steps that stoker finds in a file, or None, and its output."""
    path = Path(folder) / "left.jsonl.gz"
    path.write_bytes(file)
    ran = subprocess.run([stoker, "runs", "check", path], capture_output=True, text=True)
    found = re.search(r"of (\d+) steps?", ran.stdout)
    return int(found[1]) if found else None, ran.stdout + ran.stderr, ran.returncode


def judge(stoker, state, folder):
    """Return a word for the table about the recording, and its fault, if any."""
    names, files, members = state
    if "/run.jsonl.gz" not in names:
        return "no file yet", ""
    number = names["/run.jsonl.gz"]
    want, first = whole_steps(files[number], members[number])
    got, said, code = held(stoker, files[number], folder)
    if code not in (0, 1) or "panic" in said or not said.strip():
        return "broken", f"code {code}: {said}"
    if got is None:
        return "not opened, its beginning is gone", f"{want} steps are there: {said}" if first else ""
    if got < want:
        return "opened", f"{got} steps of {want}: {said}"
    return ("whole" if code == 0 else "opened with what is whole"), ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60, help="that are recorded")
    parser.add_argument("--writeback", type=float, default=30, help="after which the kernel has written, seconds (vm.dirty_expire_centisecs)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for what was left of recordings that are not as they should be")
    parser.add_argument("--stoker", type=Path, default=ROOT / "bin/stoker")
    parser.add_argument("--python", type=Path, default=ROOT / "python/.venv/bin/python")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/disk")
        disk = Disk()
        mount = threading.Thread(target=mfusepy.FUSE, args=(disk, f"{folder}/disk"), kwargs={"foreground": True})
        mount.start()
        try:
            while not os.path.ismount(f"{folder}/disk"):
                time.sleep(0.05)
            record(disk, arguments.stoker, arguments.python, f"{folder}/disk", arguments.seconds)
        finally:
            subprocess.run(["fusermount3", "-u", "-z", f"{folder}/disk"], check=True)
            mount.join()
        print(f"{len(disk.log)} operations: {dict(Counter(op[1] for op in disk.log))}")
        chance, table, wrong = random.Random(arguments.seed), Counter(), []
        for _ in range(arguments.cuts):
            word, fault = judge(arguments.stoker, after_cut(disk.log, chance, arguments.writeback), folder)
            table[word] += 1
            if fault:
                wrong.append(fault)
                if arguments.keep:
                    (Path(folder) / "left.jsonl.gz").rename(arguments.keep / f"wrong-{len(wrong)}.jsonl.gz")
    for word, n in table.most_common():
        print(f"{n:7,}  {word}")
    print(f"{len(wrong)} of {arguments.cuts} cuts are not as they should be" + "".join(f"\n  {w}" for w in wrong[:5]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
