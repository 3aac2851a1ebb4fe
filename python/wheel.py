"""The wheel's binary: hatchling calls this when it builds one.

The binary is STOKER_BIN where that is set, else bin/stoker of the checkout, else it is
built with go. The wheel's platform is that of the binary, so that wheels of all
platforms can be built on one: STOKER_BIN=… pip wheel ./python.
"""

import os
import shutil
import struct
import subprocess
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Linked with glibc, as NVML is, so not for musl; its symbols have no versions, so any glibc will do.
LINUX = {
    62: "manylinux_2_17_x86_64.manylinux2014_x86_64",
    183: "manylinux_2_17_aarch64.manylinux2014_aarch64",
}


class BinaryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        binary = find_binary(self.root, os.path.join(self.directory, "binary"))
        build_data["shared_scripts"][binary] = "stoker"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform(binary)}"


def find_binary(root, scratch):
    named = os.environ.get("STOKER_BIN")
    if named:
        return os.path.abspath(named)
    checkout = os.path.dirname(os.path.abspath(root))
    built = os.path.join(checkout, "bin", "stoker")
    if os.path.isfile(built):
        return built
    go = shutil.which("go")
    if go is None or not os.path.isfile(os.path.join(checkout, "go.mod")):
        raise SystemExit(f"no binary for the wheel: there is no {built} and no go to build it: run `make build`, or set STOKER_BIN")
    target = os.path.join(scratch, "stoker")
    command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", target, "./cmd/stoker"]
    subprocess.run(command, cwd=checkout, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return target


def platform(binary):
    """The tag of the platforms that the binary runs on."""
    with open(binary, "rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF":
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")
    (machine,) = struct.unpack_from("<H", head, 18)
    if machine not in LINUX:
        raise SystemExit(f"{binary} is for an ELF machine {machine}: expected x86-64 (62) or AArch64 (183)")
    return LINUX[machine]
