#!/usr/bin/env python3
"""Builds a release into dist/ from a clean clone (make release VERSION=0.1.0).

Nothing is published and nothing signed: what is made can be looked at, compared with what another
clone makes (it is the same, byte for byte) and uploaded by hand. Needs Go, Python 3.10 or newer and
a Debian 12 with apt-get (for the image's glibc). release/RESULTS.md lists what is made.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

import image

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NFPM = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0"
PYTHON_TOOLS = ["hatchling==1.33.0", "twine==7.0.0"]
DESCRIPTION = "Keeps GPUs fed: finds what starves them, and a data loader that is the fix"

# System, architecture, and whether it is static: without NVML, for what has no glibc. Each is an archive; of
# those for Linux with NVML a package is made as well.
BUILDS = [("linux", arch, static) for arch in ("amd64", "arm64") for static in (False, True)] + [
    (system, arch, False) for system in ("darwin", "windows") for arch in ("amd64", "arm64")
]


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("version")
    flags.add_argument("--out", default=os.path.join(ROOT, "dist"))
    given = flags.parse_args()
    commit, when = check(given.version)
    os.environ["SOURCE_DATE_EPOCH"] = str(int(when.timestamp()))
    shutil.rmtree(given.out, ignore_errors=True)
    os.makedirs(given.out)
    with tempfile.TemporaryDirectory(prefix="stoker-release-") as scratch:
        release = Release(given.version, commit, when, os.path.abspath(given.out), scratch)
        release.make()


def check(version):
    """The commit and its time, where this checkout is that version and nothing else."""
    number = output("sed", "-n", 's/^__version__ = "\\(.*\\)"$/\\1/p', "python/stoker/__init__.py").strip()
    if version != number:
        fail(f"release {version}: python/stoker/__init__.py says {number}", f"make release VERSION={number}, or commit another __version__ and heading of CHANGELOG.md")
    if changed := output("git", "status", "--porcelain").strip():
        fail(f"release {version}: the checkout is not clean: {changed.splitlines()[0].strip()}", "git stash -u")
    commit, seconds = output("git", "log", "-1", "--format=%H %ct").split()
    return commit, datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)


class Release:
    def __init__(self, version, commit, when, out, scratch):
        self.version, self.commit, self.when, self.out, self.scratch = version, commit, when, out, scratch
        self.texts = {name: read(os.path.join(ROOT, path)) for name, path in [("LICENSE", "LICENSE"), ("licenses.txt", "cmd/stoker/licenses/licenses.txt"), ("CHANGELOG.md", "CHANGELOG.md")]}

    def make(self):
        binaries = {build: self.binary(*build) for build in BUILDS}
        for build, binary in binaries.items():
            self.archive(build, binary)
        self.wheels(binaries)
        glibc = {arch: binary for (system, arch, static), binary in binaries.items() if system == "linux" and not static}
        for arch, binary in glibc.items():
            self.packages(arch, binary)
        sizes = image.write(self.path("image.oci.tar"), self.version, self.when, glibc, self.texts, self.scratch)
        print("image:", ", ".join(f"{arch} {size / 1e6:.1f} MB packed" for arch, size in sizes.items()))
        self.bill_of_materials(glibc["amd64"])
        self.provenance()
        self.sums("SHA256SUMS")

    def path(self, ending):
        return os.path.join(self.out, f"stoker_{self.version}_{ending}")

    def binary(self, system, arch, static):
        name = os.path.join(self.scratch, f"{system}-{arch}{'-static' * static}", "stoker.exe" if system == "windows" else "stoker")
        os.makedirs(os.path.dirname(name))
        run("go", "build", "-trimpath", "-buildvcs=false", *(["-tags", "nonvml"] if static else []), "-ldflags", f"-s -w {'-E stoker_entry' * (system == 'linux')} -X main.linked={self.version}",
            "-o", name, "./cmd/stoker", CGO_ENABLED="0", GOOS=system, GOARCH=arch, GOAMD64="v1", GOARM64="v8.0", GOFLAGS="-mod=readonly")
        return name

    def archive(self, build, binary):
        """A .tar.gz, or a .zip for Windows, with the binary and its licences."""
        system, arch, static = build
        files = [(os.path.basename(binary), 0o755, 0, read(binary)), *((name, 0o644, 0, text) for name, text in self.texts.items())]
        ending = f"{system}_{arch}{'_static' * static}"
        if system != "windows":
            write(self.path(ending + ".tar.gz"), gzip.compress(image.tar(files, self.when), mtime=0))
            return
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, mode, _, text in files:
                entry = zipfile.ZipInfo(name, self.when.timetuple()[:6])
                entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, mode << 16, 3
                packed.writestr(entry, text)
        write(self.path(ending + ".zip"), content.getvalue())

    def wheels(self, binaries):
        venv = os.path.join(self.scratch, "venv")
        run(sys.executable, "-m", "venv", venv)
        python = os.path.join(venv, "bin", "python")
        run(python, "-m", "pip", "install", "--quiet", *PYTHON_TOOLS)
        for binary in binaries.values():
            run(python, "-m", "hatchling", "build", "-t", "wheel", "-d", self.out, cwd="python", STOKER_BIN=binary)
        run(python, "-m", "hatchling", "build", "-t", "sdist", "-d", self.out, cwd="python")
        made = sorted(os.path.join(self.out, name) for name in os.listdir(self.out) if name.endswith(".whl")) + [os.path.join(self.out, f"stoker-{self.version}.tar.gz")]
        if len(made) != len(binaries) + 1:
            fail(f"build wheels: {len(made) - 1} of {len(binaries)}: two have one tag", "look at TAGS in python/wheel.py")
        run(python, "-m", "twine", "check", "--strict", *made)

    def packages(self, arch, binary):
        """A .deb and a .rpm; JSON is YAML, which nfpm reads."""
        contents = [{"src": binary, "dst": "/usr/bin/stoker", "file_info": {"mode": 0o755}}]
        for name, text in self.texts.items():
            write(os.path.join(self.scratch, name), text)
            contents.append({"src": os.path.join(self.scratch, name), "dst": "/usr/share/doc/stoker/" + {"LICENSE": "copyright"}.get(name, name), "file_info": {"mode": 0o644}})
        stated = {
            "name": "stoker", "arch": arch, "platform": "linux", "version": self.version, "version_schema": "semver", "section": "utils", "priority": "optional",
            "maintainer": "Stoker's maintainers <maintainers@stoker.example>", "description": DESCRIPTION, "homepage": "https://github.com/stoker-dev/stoker",
            "license": "Apache-2.0", "mtime": f"{self.when:%Y-%m-%dT%H:%M:%SZ}",
            "contents": [{**entry, "file_info": {**entry["file_info"], "mtime": f"{self.when:%Y-%m-%dT%H:%M:%SZ}"}} for entry in contents],
            "deb": {"compression": "xz"}, "rpm": {"buildhost": "localhost", "compression": "xz"},
            "overrides": {"deb": {"depends": ["libc6"]}, "rpm": {"depends": ["glibc"]}},
        }
        config = os.path.join(self.scratch, f"nfpm-{arch}.json")
        write(config, json.dumps(stated).encode())
        for kind in ("deb", "rpm"):
            run("go", "run", NFPM, "package", "--config", config, "--packager", kind, "--target", self.out + os.sep, GOFLAGS="")

    def bill_of_materials(self, binary):
        """CycloneDX of what the binary says it was built of."""
        parts = []
        for line in output("go", "version", "-m", binary).splitlines():
            words = line.split()
            if words[0] == "dep":
                parts.append({"type": "library", "name": words[1], "version": words[2], "purl": f"pkg:golang/{words[1]}@{words[2]}", "properties": [{"name": "go.sum", "value": words[3]}]})
        compiler = output("go", "env", "GOVERSION").strip()
        parts.append({"type": "library", "name": "std", "version": compiler.removeprefix("go"), "purl": f"pkg:golang/std@{compiler.removeprefix('go')}"})
        parts.append({"type": "library", "name": "libc6", "version": image.LIBC, "purl": f"pkg:deb/debian/libc6@{image.LIBC}", "description": "in the image alone"})
        self.json("sbom.cdx.json", {
            "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": parts,
            "metadata": {"component": {"type": "application", "name": "stoker", "version": self.version, "licenses": [{"license": {"id": "Apache-2.0"}}], "purl": f"pkg:pypi/stoker@{self.version}"}},
        })

    def provenance(self):
        """An in-toto statement with SLSA's predicate, unsigned: whoever publishes signs it."""
        self.json("provenance.intoto.json", {
            "_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in self.digests()],
            "predicate": {
                "buildDefinition": {
                    "buildType": "https://github.com/stoker-dev/stoker/blob/main/release/release.py", "externalParameters": {"version": self.version},
                    "resolvedDependencies": [
                        {"uri": "git+https://github.com/stoker-dev/stoker", "digest": {"gitCommit": self.commit}},
                        {"uri": "pkg:golang/toolchain@" + output("go", "env", "GOVERSION").strip()},
                        {"uri": "pkg:golang/" + NFPM}, *({"uri": "pkg:pypi/" + tool.replace("==", "@")} for tool in PYTHON_TOOLS),
                    ],
                },
                "runDetails": {"builder": {"id": "make release, by hand: unsigned"}},
            },
        })

    def json(self, ending, value):
        write(self.path(ending), json.dumps(value, indent=1).encode() + b"\n")

    def digests(self):
        return [(name, hashlib.sha256(read(os.path.join(self.out, name))).hexdigest()) for name in sorted(os.listdir(self.out))]

    def sums(self, name):
        write(os.path.join(self.out, name), "".join(f"{digest}  {file}\n" for file, digest in self.digests()).encode())


def run(*command, cwd=".", **environment):
    print("+", *command, flush=True)
    subprocess.run(command, cwd=os.path.join(ROOT, cwd), env={**os.environ, **environment}, check=True)


def output(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def fail(what, hint):
    sys.exit(f"make: error: {what}\nmake: hint: {hint}")


if __name__ == "__main__":
    main()
