#!/usr/bin/env python3
"""What user emulation cannot run, in a whole emulated machine of arm64: bench/cpus/machine.py [STEP]...

    bench/cpus/root.py                # once: arm64's Python
    bench/cpus/machine.py             # needs qemu-system-aarch64 (apt-get install qemu-system-arm) and aarch64-linux-gnu-gcc

Debian's kernel for arm64 boots with a root in memory that has Python, the tests of observe/stack and observe/gpu, the
program and the emulated NVML. There process_vm_readv is the kernel's own. Each step must exit with 0 and print the
expected text. The last one lists the steps that were left out.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import cpus
import root

KERNEL, MODEL = "linux-image-cloud-arm64", "neoverse-n1"
LIMIT = 1500  # seconds, where nothing else runs it is two minutes

LOOP = """
import sys, time
import stoker
from stoker.emulated import Device

def read(i):
    time.sleep(0.15)
    return i

device = Device()
for batch in stoker.watch(map(read, range(int(sys.argv[1])))):
    device.launch(0.02)
"""

# What runs in it: name, command, what its output must have.
STEPS = [
    ("kernel", "uname -srm; nproc", [r"aarch64"]),
    ("stacks", "cd /t/stack && ./stack.test -test.v -test.timeout 20m", [r"--- PASS: TestStacks/3\.11\.\d+_main_places", r"--- PASS: TestStacks/3\.11\.\d+_thread_places", r"--- PASS: TestWatch", r"^PASS"]),
    ("nvml", "cd /t/gpu && PATH=/t/cc:$PATH ./gpu.test -test.v -test.timeout 20m -test.run 'TestADevice|TestFaults|TestEach|TestOverlap|TestEmulation'", [r"--- PASS: TestADeviceThatWorks", r"--- PASS: TestEachMissingSymbolCostsOnlyItsValue/nvmlGpmMetricsGet", r"^PASS"]),
    ("doctor", "cd /t && STOKER_EMULATE=1 ./stoker doctor", [r"(?i)gpu", r"process_vm_readv|stacks|lines"]),
    ("observe", "cd /t && PYTHONPATH=/t/python STOKER_EMULATE=1 ./stoker observe --no-trace -o /tmp/run.jsonl.gz -- python3.11 loop.py 300", [r"device +busy", r"waiting for input [\d.]+ %", r"\bsteps?\b"]),
    ("attach", "cd /t && (PYTHONPATH=/t/python STOKER_EMULATE=1 STOKER_EMULATED_PAGE=/tmp/page python3.11 loop.py 300 & exec env STOKER_EMULATE=1 STOKER_EMULATED_PAGE=/tmp/page ./stoker observe --no-trace -o /tmp/pid.jsonl.gz --pid $!)", [r"verdict +\S+", r"device +busy"]),
]


def fetch_kernel(scratch):
    """The kernel of Debian, and busybox."""
    root.fetch_packages(scratch, [KERNEL])
    [stub] = (scratch / "apt/debs").glob("*.deb")
    named = re.search(rb"linux-image-\S+", subprocess.run(["dpkg-deb", "--field", stub, "Depends"], capture_output=True, check=True).stdout)[0].decode()
    stub.unlink()
    for package in root.fetch_packages(scratch, [named, "busybox-static"]):
        root.run("dpkg", "-x", package, scratch / "debian")
    return next((scratch / "debian/boot").glob("vmlinuz-*")), scratch / "debian/bin/busybox"


def build(to):
    """Programs of arm64, and what their tests read."""
    environment = {**os.environ, "GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0"}
    for package, name in (("./observe/stack", "stack"), ("./observe/gpu", "gpu")):
        (to / name).mkdir(parents=True)
        cpus.run(["go", "test", "-c", "-o", to / name / f"{name}.test", package], environment)
    shutil.copytree(cpus.ROOT / "observe/stack/testdata", to / "stack/testdata", ignore=shutil.ignore_patterns("fuzz"))
    cpus.run(["go", "build", "-ldflags", "-s -w -E stoker_entry", "-o", to / "stoker", "./cmd/stoker"], environment)
    library = to / "libnvidia-ml.so.1"
    cpus.run(["aarch64-linux-gnu-gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o", library, "observe/gpu/emulated/nvml.c"])
    (to / "cc").mkdir()  # the tests of observe/gpu have a compiler make it, which here is done already
    write_program(to / "cc/cc", '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nexec cp /t/libnvidia-ml.so.1 "$2"\n')
    shutil.copytree(cpus.ROOT / "python/stoker", to / "python/stoker", ignore=shutil.ignore_patterns("__pycache__"))
    (to / "loop.py").write_text(LOOP)


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def make_files(scratch, busybox, wanted):
    """The folder that becomes the machine's root."""
    files = scratch / "files"
    shutil.copytree(cpus.BUILT / "root", files, symlinks=True, ignore=shutil.ignore_patterns("packages", "__pycache__"))
    for name in ("bin", "proc", "sys", "dev", "tmp", "root", "t"):
        (files / name).mkdir(exist_ok=True)
    shutil.copy(busybox, files / "bin/busybox")
    build(files / "t")
    steps = "".join(f"echo '== {name}'; ( {command} ) 2>&1; echo \"== {name} ended with $?\"\n" for name, command, _ in wanted)
    write_program(
        files / "init",
        "#!/bin/busybox sh\n/bin/busybox --install -s /bin\nexport PATH=/bin:/usr/bin HOME=/root PYTHONDONTWRITEBYTECODE=1 GOTRACEBACK=all\n"
        "mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp\n"
        "chmod 755 /; chmod 1777 /tmp /dev/shm; mount -t cgroup2 cgroup /sys/fs/cgroup; ip link set lo up\n" + steps + "poweroff -f\n",
    )
    return files


def write_archive(files, out):
    """A cpio archive (newc) of a folder, as kernels unpack them: a few lines, and no program cpio is needed."""
    with open(out, "wb") as to:

        def put(name, mode, data, device=(0, 0)):
            name = name.encode() + b"\0"
            numbers = (put.next, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
            put.next += 1
            to.write(b"070701" + b"".join(b"%08X" % n for n in numbers) + name)
            to.write(bytes(-to.tell() % 4) + data)
            to.write(bytes(-to.tell() % 4))

        put.next = 1
        put("dev", stat.S_IFDIR | 0o755, b"")
        put("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))
        for path in sorted(files.rglob("*")):
            mode, name = path.lstat().st_mode, str(path.relative_to(files))
            if path.is_symlink():
                put(name, mode, os.readlink(path).encode())
            elif name != "dev":
                put(name, mode, path.read_bytes() if path.is_file() else b"")
        put("TRAILER!!!", 0, b"")


def boot(kernel, archive):
    command = ["qemu-system-aarch64", "-machine", "virt", "-cpu", MODEL, "-smp", "2", "-m", "2048", "-nographic", "-no-reboot", "-nic", "none",
               "-kernel", kernel, "-initrd", archive, "-append", "console=ttyAMA0 quiet panic=-1"]  # fmt: skip
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT)
    return done.stdout.replace("\r", "")


def judge(said, steps):
    """Print each step, and return those that did not end well."""
    failed = []
    for name, _, wanted in steps:
        found = re.search(rf"^== {name}$(.*?)^== {name} ended with (\d+)$", said, re.MULTILINE | re.DOTALL)
        missing = [pattern for pattern in wanted if not found or not re.search(pattern, found[1], re.MULTILINE)]
        passed, skipped = (found[1].count(f"--- {word}") if found else 0 for word in ("PASS", "SKIP"))
        print(f"  {name}: ended with {found[2] if found else 'nothing'}" + (f", {passed} tests pass, {skipped} are skipped" if passed else ""), flush=True)
        if missing or not found or found[2] != "0":
            failed.append(f"{name}: without {missing}\n{found[1][-6000:] if found else said[-6000:]}")
    return failed


def main():
    names = sys.argv[1:] or [name for name, _, _ in STEPS]
    steps = [step for step in STEPS if step[0] in names]
    if len(steps) < len(names):
        sys.exit(f"machine.py: the steps are {', '.join(name for name, _, _ in STEPS)}")
    if shutil.which("qemu-system-aarch64") is None:
        sys.exit("machine.py: there is no qemu-system-aarch64: apt-get install qemu-system-arm")
    if not (cpus.BUILT / "root/python").exists():
        sys.exit("machine.py: bin/cpus/root/python is missing: run bench/cpus/root.py")
    with tempfile.TemporaryDirectory(prefix="stoker-machine-") as folder:
        scratch = Path(folder)
        kernel, busybox = fetch_kernel(scratch)
        write_archive(make_files(scratch, busybox, steps), scratch / "root.cpio")
        said = boot(kernel, scratch / "root.cpio")
    (cpus.BUILT / "machine.txt").write_text(said)
    if failed := judge(said, steps):
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
