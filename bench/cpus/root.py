#!/usr/bin/env python3
"""A root of arm64 with Python, Pillow and NumPy, for qemu-aarch64: bench/cpus/root.py [--torch] [FOLDER]

    bench/cpus/root.py                                  makes bin/cpus/root, some 150 MB
    bin/cpus/root/python script.py                      runs arm64's Python under qemu

Debian's packages are unpacked and not installed, with separate package lists: the system does not
change, and no rights are needed. Pillow is the version whose bytes the feed gives. PyTorch 2.8 is the last one
whose wheel for arm64 needs no CUDA.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "bin/cpus/root"

# What a Python of arm64 and its extension modules are linked to.
PACKAGES = """python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libgcc-s1 libstdc++6 libexpat1 zlib1g libssl3
    libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libncursesw6 libtinfo6 libreadline8 libdb5.3 libnsl2 libtirpc3""".split()
WHEELS = ["pillow==13.0.0", "numpy==2.4.6"]
TORCH = ["torch==2.8.0", "torchvision==0.23.0", "filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "sympy", "typing-extensions"]

SOURCE = "deb [arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"


def run(*command, cwd=None):
    subprocess.run([str(word) for word in command], cwd=cwd, check=True, stdout=sys.stderr)


def fetch_packages(folder, packages=PACKAGES):
    """Debian's packages of arm64, by lists that are kept in the folder."""
    apt = folder / "apt"
    for name in ("state/lists/partial", "cache/archives/partial", "debs"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "sources.list").write_text(SOURCE)
    (apt / "state/status").write_text("")
    settings = {
        "Dir::State": apt / "state", "Dir::State::status": apt / "state/status", "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "sources.list", "Dir::Etc::sourceparts": "-",
        "APT::Architecture": "arm64", "APT::Architectures": "arm64", "Acquire::Languages": "none", "APT::Sandbox::User": "",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    run("apt-get", *options, "-q", "update")
    run("apt-get", *options, "-q", "download", *packages, cwd=apt / "debs")
    return sorted((apt / "debs").glob("*.deb"))


def install_wheels(folder, wheels):
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.11",
        "--platform", "manylinux_2_28_aarch64", "--platform", "manylinux_2_27_aarch64", "--platform", "manylinux_2_17_aarch64", "--platform", "manylinux2014_aarch64",
        "--target", folder / "packages", "--upgrade", *wheels)  # fmt: skip


def write_launcher(folder):
    """A program python, which starts arm64's under qemu wherever the folder is called from."""
    path = folder / "python"
    root = shlex.quote(str(folder.resolve()))
    path.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={root}/packages${{PYTHONPATH:+:$PYTHONPATH}} PYTHONHOME={root}/usr\n"
        f'exec qemu-aarch64 -L {root} -cpu max ${{QEMU_OPTIONS-}} {root}/usr/bin/python3.11 "$@"\n'
    )
    path.chmod(0o755)


def make_root(folder, wheels):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in fetch_packages(folder):
        run("dpkg", "-x", package, folder)
    shutil.rmtree(folder / "apt")
    install_wheels(folder, wheels)
    write_launcher(folder)
    run(folder / "python", "-c", "import PIL, numpy, platform; print(platform.machine(), 'Pillow', PIL.__version__, 'NumPy', numpy.__version__)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=BUILT)
    parser.add_argument("--torch", action="store_true", help="with PyTorch and torchvision, 450 MB more")
    options = parser.parse_args()
    for tool in ("apt-get", "dpkg", "qemu-aarch64"):
        if shutil.which(tool) is None:
            raise SystemExit(f"root.py: no {tool} here: it needs Debian or Ubuntu, with the package qemu-user")
    make_root(options.folder, WHEELS + (TORCH if options.torch else []))
    print(os.path.relpath(options.folder / "python"))


if __name__ == "__main__":
    main()
