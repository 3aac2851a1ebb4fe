"""What hatchling asks when it builds a wheel or an sdist.

A wheel has a binary in it: STOKER_BIN where that is set, else bin/stoker of the checkout, else
it is built with go, of a checkout or of the Go source that an sdist carries. The wheel's
platform is read from the binary, so that the wheels of all platforms can be built on one.
"""

import os
import shutil
import struct
import subprocess

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# By the binary's format, its machine, and whether it needs glibc. Its symbols of glibc have no versions
# and are older than 2.17, the oldest that anybody asks for; one without NVML needs none, and is for musl.
# Go 1.26 needs macOS 12.
TAGS = {
    ("ELF", 62, True): "manylinux_2_17_x86_64.manylinux2014_x86_64",
    ("ELF", 183, True): "manylinux_2_17_aarch64.manylinux2014_aarch64",
    ("ELF", 62, False): "musllinux_1_1_x86_64",
    ("ELF", 183, False): "musllinux_1_1_aarch64",
    ("Mach-O", 0x01000007, False): "macosx_12_0_x86_64",
    ("Mach-O", 0x0100000C, False): "macosx_12_0_arm64",
    ("PE", 0x8664, False): "win_amd64",
    ("PE", 0xAA64, False): "win_arm64",
}

HINT = """stoker: error: build wheel: it needs the stoker binary, and there is neither {built} nor Go to build one
stoker: hint: pip install --only-binary stoker stoker     (a wheel of your platform has the binary in it)
stoker: hint: or, in a clone, make build, which brings Go
stoker: hint: or install Go 1.21 or newer (go.dev/dl), or build once elsewhere and set STOKER_BIN=/path/to/stoker"""


class Hook(BuildHookInterface):
    def initialize(self, version, build_data):
        if self.target_name == "sdist":
            build_data["force_include"].update(go_source(self.root))
            return
        binary = find_binary(self.root, os.path.join(self.directory, "binary"), self.metadata.version)
        tag = platform(binary)
        build_data["shared_scripts"][binary] = "stoker.exe" if tag.startswith("win") else "stoker"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"


def go_source(root):
    """Of a checkout what `go build` needs, and where in the sdist it goes. An sdist has it already."""
    checkout = os.path.dirname(os.path.abspath(root))
    if not os.path.isfile(os.path.join(checkout, "go.mod")):
        return {}
    # Tracked files only: no earlier release, no recordings.
    tracked = subprocess.run(["git", "-C", checkout, "ls-files", "-z"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    found = {}
    for path in sorted(filter(None, tracked)):
        top, *below = path.split("/")
        if below:
            needed = top not in ("python", "bench", "examples", "docs", "release") and "testdata" not in below and not top.startswith(".")
            needed = needed or path.startswith("python/hook/")  # which the binary embeds
        else:  # of the checkout's own folder Go alone; below it what packages embed as well
            needed = path.endswith(".go") or path in ("go.mod", "go.sum", "LICENSE")
        if needed and top != "testdata" and not path.endswith("_test.go"):
            found[os.path.join(checkout, path)] = "go/" + path
    return found


def find_binary(root, scratch, version):
    named = os.environ.get("STOKER_BIN")
    if named:
        return os.path.abspath(named)
    checkout = os.path.dirname(os.path.abspath(root))
    built = os.path.join(checkout, "bin", "stoker")
    if os.path.isfile(built):
        return built
    go = shutil.which("go")
    source = next((folder for folder in (checkout, os.path.join(root, "go")) if os.path.isfile(os.path.join(folder, "go.mod"))), None)
    if go is None or source is None:
        raise SystemExit(HINT.format(built=built))
    target = os.path.join(scratch, "stoker")
    system = subprocess.run([go, "env", "GOOS", "GOARCH"], cwd=source, check=True, capture_output=True, text=True).stdout.split()
    entry = "-E stoker_entry" * (system in (["linux", "amd64"], ["linux", "arm64"]))  # internal/launch
    command = [go, "build", "-trimpath", "-buildvcs=false", f"-ldflags=-s -w {entry} -X main.linked={version}", "-o", target, "./cmd/stoker"]
    subprocess.run(command, cwd=source, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return target


def platform(binary):
    """The tag of the platforms that the binary runs on."""
    with open(binary, "rb") as file:
        head = file.read(4096)
    kind = "ELF" if head[:4] == b"\x7fELF" else "Mach-O" if head[:4] == b"\xcf\xfa\xed\xfe" else "PE" if head[:2] == b"MZ" else "unknown"
    machine, interpreter = None, False
    if kind == "ELF":
        (machine,) = struct.unpack_from("<H", head, 18)
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        interpreter = any(struct.unpack_from("<I", head, table + i * size)[0] == 3 for i in range(count))  # PT_INTERP
    elif kind == "Mach-O":
        (machine,) = struct.unpack_from("<I", head, 4)
    elif kind == "PE":
        (machine,) = struct.unpack_from("<H", head, struct.unpack_from("<I", head, 60)[0] + 4)
    if (kind, machine, interpreter) not in TAGS:
        raise SystemExit(f"stoker: error: build wheel: {binary} is for no platform that has wheels: {kind}, machine {machine}")
    return TAGS[kind, machine, interpreter]
