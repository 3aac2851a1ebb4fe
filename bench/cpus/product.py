#!/usr/bin/env python3
"""The packages for arm64, built, installed into roots of arm64 and run by qemu: bench/cpus/product.py

    bench/cpus/root.py                # once: arm64's Python
    bench/cpus/product.py
    bench/cpus/product.py --reuse     # those that were built before, in bin/cpus/dist

The wheel goes into a folder by pip and is run by arm64's Python; the .deb into a root by dpkg; the .rpm into one by rpm,
where there is one; the image's layers are laid one above the other in one. Each must print its version and
judge a recording of this repository as the binary of this machine does.

What emulation does not have is said in bench/cpus/RESULTS.md: qemu's user emulation knows no process_vm_readv.
"""

import argparse
import datetime
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import cpus
import root

sys.path.insert(0, str(cpus.ROOT / "release"))
import image  # noqa: E402
import release  # noqa: E402

CASE = cpus.ROOT / "testdata/cases/main-thread-live/run.jsonl"
ROOT, DIST = cpus.BUILT / "root", cpus.BUILT / "dist"
PATTERNS = {"wheel": "*.whl", "deb": "*.deb", "rpm": "*.rpm", "image": "*.oci.tar"}
VERSION = release.output("sed", "-n", 's/^__version__ = "\\(.*\\)"$/\\1/p', "python/stoker/__init__.py").strip()
QEMU = ["qemu-aarch64", "-cpu", "max"]


def build(out, scratch):
    """Make the four packages."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    commit = release.output("git", "log", "-1", "--format=%H").strip()
    when = datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc)
    os.environ["SOURCE_DATE_EPOCH"] = str(int(when.timestamp()))
    made = release.Release(VERSION, commit, when, str(out), str(scratch))
    binary = made.binary("linux", "arm64", False)
    made.wheels({("linux", "arm64", False): binary})
    made.packages("arm64", binary)
    image.write(made.path("image.oci.tar"), VERSION, when, {"arm64": binary}, made.texts, str(scratch))


def run(what, command, environment=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **(environment or {})}, cwd=cpus.ROOT)
    if done.returncode:
        sys.exit(f"{what}: {command}: ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def install_wheel(path, folder):
    run("wheel", [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.11", "--platform", "manylinux_2_17_aarch64", "--target", folder, path])
    line = "import stoker, platform; print(platform.machine(), stoker.__version__, stoker.find_binary())"
    environment = {"PYTHONPATH": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}  # as --target leaves scripts in no Python's folder
    print("wheel   " + run("wheel", [ROOT / "python", "-c", line], environment).strip(), flush=True)
    return folder / "bin/stoker"


def fresh_root(folder, libc):
    """A root with Debian's libc6 alone, unpacked, as its scripts would need a shell of arm64, and known to dpkg."""
    for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "tmp"):
        (folder / name).mkdir(parents=True)
    stated = run("libc6", ["dpkg-deb", "--field", libc, "Package", "Version", "Architecture", "Maintainer", "Description"])
    (folder / "var/lib/dpkg/status").write_text("Status: install ok installed\n" + stated + "\n")
    run("libc6", ["dpkg", "-x", libc, folder])
    return folder


def unpack_image(path, folder):
    """Lay the layers of the image's arm64 one above the other."""
    with tarfile.open(path) as archive:
        def blob(digest):
            return archive.extractfile("blobs/" + digest.replace(":", "/")).read()

        index = json.loads(archive.extractfile("index.json").read())
        [manifest] = [m for m in json.loads(blob(index["manifests"][0]["digest"]))["manifests"] if m["platform"]["architecture"] == "arm64"]
        stated = json.loads(blob(manifest["digest"]))
        for layer in stated["layers"]:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layer["digest"])))) as files:
                files.extractall(folder, filter="fully_trusted")
        return json.loads(blob(stated["config"]["digest"]))["config"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reuse", action="store_true", help="the packages that were built before, in bin/cpus/dist")
    options = parser.parse_args()
    if not (ROOT / "python").exists():
        sys.exit("product.py: bin/cpus/root/python is missing: run bench/cpus/root.py")
    scratch = Path(tempfile.mkdtemp(prefix="stoker-arm64-"))
    try:
        cpus.run(["go", "build", "-o", scratch / "here", "./cmd/stoker"], {**os.environ, "CGO_ENABLED": "0"})
        wanted = json.loads(run("here", [scratch / "here", "diagnose", "--json", CASE]))["verdict"]

        def try_program(kind, front):
            """Run an installed program: its version, and a verdict."""
            said = run(kind, [*front, "--version"])
            if VERSION not in said:
                sys.exit(f"{kind}: --version says {said!r}, expected {VERSION}")
            verdict = json.loads(run(kind, [*front, "diagnose", "--json", CASE]))["verdict"]
            if verdict != wanted:
                sys.exit(f"{kind}: the verdict is {verdict}, on this machine {wanted}")
            print(f"{kind:8}{said.strip()}, {verdict['class']}", flush=True)

        if not options.reuse:
            build(DIST, scratch / "build")
        made = {kind: next(DIST.glob(pattern)) for kind, pattern in PATTERNS.items()}
        try_program("wheel", [*QEMU, "-L", ROOT, install_wheel(made["wheel"], scratch / "wheel")])

        [libc] = root.fetch_packages(scratch, ["libc6"])
        deb = fresh_root(scratch / "deb", libc)
        run("deb", ["dpkg", "--root", deb, "--force-architecture", "-i", made["deb"]])
        print("deb     " + run("deb", ["dpkg-query", "--root", deb, "-W", "stoker"]).strip(), flush=True)
        try_program("deb", [*QEMU, "-L", deb, deb / "usr/bin/stoker"])

        rpm = fresh_root(scratch / "rpm", libc)
        if shutil.which("rpm"):
            run("rpm", ["rpm", "--root", rpm, "--ignorearch", "--nodeps", "--dbpath", "/var/lib/rpm", "-i", made["rpm"]])
            print("rpm     " + run("rpm", ["rpm", "--root", rpm, "--dbpath", "/var/lib/rpm", "-q", "stoker"]).strip(), flush=True)
            try_program("rpm", [*QEMU, "-L", rpm, rpm / "usr/bin/stoker"])
        else:
            print("rpm     not installed: there is no rpm here")

        at = scratch / "image"
        config = unpack_image(made["image"], at)
        print(f"image   user {config['User']}, {config['Entrypoint']}", flush=True)
        try_program("image", [*QEMU, "-L", at, str(at) + config["Entrypoint"][0]])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
