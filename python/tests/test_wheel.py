"""What a wheel is tagged, and that there is one version."""

import importlib.util
import os
import re
import struct
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import stoker

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def wheel():
    """wheel.py without hatchling, which pip brings when it builds."""
    names = ["hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin", "hatchling.builders.hooks.plugin.interface"]
    fakes = {name: types.ModuleType(name) for name in names}
    fakes[names[-1]].BuildHookInterface = object
    spec = importlib.util.spec_from_file_location("wheel", os.path.join(PYTHON, "wheel.py"))
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, fakes):
        spec.loader.exec_module(module)
    return module


def elf(machine, *segments):
    head = b"\x7fELF".ljust(18, b"\0") + struct.pack("<H", machine)
    head = head.ljust(32, b"\0") + struct.pack("<Q", 64)
    head = head.ljust(54, b"\0") + struct.pack("<HH", 56, len(segments))
    return head.ljust(64, b"\0") + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in segments)


class Wheel(unittest.TestCase):
    def tag(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stoker")
            with open(path, "wb") as file:
                file.write(content)
            return wheel().platform(path)

    def test_the_platform_is_the_binarys(self):
        portable = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
        for content, tag in [
            (elf(62, 6, 3, 1), "manylinux_2_17_x86_64.manylinux2014_x86_64"),
            (elf(183, 6, 3, 1), "manylinux_2_17_aarch64.manylinux2014_aarch64"),
            (elf(62, 6, 1), "musllinux_1_1_x86_64"),
            (b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C), "macosx_12_0_arm64"),
            (b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x01000007), "macosx_12_0_x86_64"),
            (portable + struct.pack("<H", 0x8664), "win_amd64"),
        ]:
            with self.subTest(tag):
                self.assertEqual(self.tag(content), tag)
        for content in (elf(243, 3), b"#!/bin/sh\n", b""):
            with self.subTest(content), self.assertRaisesRegex(SystemExit, "no platform that has wheels"):
                self.tag(content)

    def test_an_sdist_carries_what_git_knows_and_nothing_else(self):
        files = {name: name in tracked for tracked in [["go.mod", "go.sum", "LICENSE", "a.go", "a_test.go", "cmd/stoker/main.go", "web/list.html", "web/testdata/x", "bench/b.go", "python/hook/a.py", "python/tests/b.py"]]
                 for name in [*tracked, "dist/stoker.whl", "stoker-runs/run.jsonl.gz", "cmd/stoker/stoker-runs/run.jsonl.gz", "web/.env"]}
        with tempfile.TemporaryDirectory() as folder:
            git = ["git", "-C", folder, "-c", "core.hooksPath=/dev/null"]
            subprocess.run([*git, "init", "-q"], check=True)
            for name in files:
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                with open(os.path.join(folder, name), "w", encoding="utf-8"):
                    pass
            subprocess.run([*git, "add", "--", *(name for name, tracked in files.items() if tracked)], check=True)
            found = wheel().go_source(os.path.join(folder, "python"))
        self.assertEqual(sorted(found.values()), ["go/LICENSE", "go/a.go", "go/cmd/stoker/main.go", "go/go.mod", "go/go.sum", "go/python/hook/a.py", "go/web/list.html"])

    def test_without_a_binary_and_go_it_says_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"PATH": folder}), self.assertRaisesRegex(SystemExit, "hint: or install Go"):
            os.environ.pop("STOKER_BIN", None)
            wheel().find_binary(os.path.join(folder, "python"), folder, "1.0")

    def test_there_is_one_version(self):
        with open(os.path.join(PYTHON, "..", "CHANGELOG.md"), encoding="utf-8") as file:
            newest = re.search(r"^## (\S+)", file.read(), re.MULTILINE).group(1)
        self.assertEqual(newest, stoker.__version__)
        binary = os.path.join(PYTHON, "..", "bin", "stoker")
        if os.path.isfile(binary):
            said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
            self.assertEqual(said.split("+")[0], stoker.__version__)
