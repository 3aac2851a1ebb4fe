#!/usr/bin/env python3
"""Prints the licences of everything that a stoker binary holds, on any system it is built for.

    release/licenses.py > cmd/stoker/licenses/licenses.txt     (make licenses)

The binary embeds that file and `stoker licenses` prints it; wheels and packages carry it as well.
The modules are those that `go list -deps` names, the texts those of the module cache.
"""

import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOTICE = re.compile(r"(licen[cs]e|copying|notice|patents)", re.IGNORECASE)


def main():
    goroot, goversion = output("go", "env", "GOROOT", "GOVERSION").split()
    texts = {}  # text: what it is of
    for name, folder in [(f"Go's runtime and standard library, {goversion}", goroot), *modules()]:
        for path in notices(folder):
            with open(path, encoding="utf-8") as text:
                texts.setdefault(text.read().strip(), []).append(f"{name} ({os.path.basename(path)})")
    with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as own:
        print(f"Stoker is licensed under the Apache License 2.0:\n\n{own.read().strip()}")
    print("\nThe binary also holds the code below, each under its own licence.")
    for text, names in texts.items():
        print("\n" + "=" * 80, *names, "=" * 80, "", text, sep="\n")


def modules():
    """Name and folder of each module that any of our builds links, and of packages with a licence of their own."""
    form = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
    found = set()
    for system in ("linux", "darwin", "windows"):
        lines = output("go", "list", "-deps", "-f", form, "./cmd/stoker", GOOS=system, CGO_ENABLED="0").splitlines()
        for name, module, folder in (line.split("\t") for line in lines if line):
            if not notices(module):
                sys.exit(f"release/licenses.py: error: {name} has no licence in {module}")
            found.add((name, module))
            if notices(folder):
                found.add((name + folder.removeprefix(module), folder))
    return sorted(found)


def notices(folder):
    return sorted(path for path in glob.glob(os.path.join(glob.escape(folder), "*")) if os.path.isfile(path) and NOTICE.match(os.path.basename(path)))


def output(*command, **environment):
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main()
