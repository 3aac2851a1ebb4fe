"""What the tests of the loader share: folders of images, a binary to run."""

import contextlib
import os
import shlex
import sys
import tempfile
import unittest
from unittest import mock

import leash

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "feed_fake.py")


class FeedCase(unittest.TestCase):
    """A test with a folder of its own and a fake in place of the binary."""

    def setUp(self):
        leash.hold(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        before = set(children())
        self.addCleanup(self.assertSoon, lambda: set(children()) <= before)  # every daemon has ended
        self.addCleanup(let_go)
        script = os.path.join(self.folder, "stoker")
        with open(script, "w") as file:
            file.write(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(FAKE)} "$@"\n')
        os.chmod(script, 0o700)
        self.log = os.path.join(self.folder, "log")
        self.environment(STOKER_BIN=script, FEED_FAKE_LOG=self.log, FEED_FAKE="", RANK="", WORLD_SIZE="", LOCAL_RANK="", LOCAL_WORLD_SIZE="")

    def assertSoon(self, holds):
        leash.wait(self, holds)

    def environment(self, **values):
        self.enterContext(mock.patch.dict(os.environ, values))

    def images(self, count=42, classes=("cat", "dog"), write=None):
        """A folder of count images, dealt out to the classes; write(path) makes one, by default an empty file."""
        root = os.path.join(self.folder, "images")
        each = -(-count // len(classes))
        for number in range(count):
            at = os.path.join(root, classes[number // each])
            os.makedirs(at, exist_ok=True)
            path = os.path.join(at, f"{number:04d}.jpg")
            if write is None:
                open(path, "wb").close()
            else:
                write(path)
        return root

    if not hasattr(unittest.TestCase, "enterContext"):  # Python 3.10

        def enterContext(self, manager):
            stack = contextlib.ExitStack()
            self.addCleanup(stack.close)
            return stack.enter_context(manager)


def let_go():
    """End the daemon that makes pictures for loaders which are torch's own; it would end with this process."""
    module = sys.modules.get("stoker.deferred.deferring")
    if module is not None:
        module._daemon, module._lost = None, False
        if module.materializer.line is not None:
            module.materializer.line.close()
            module.materializer.line = None


def children():
    """The live processes that this one has started, by any thread, and that have not been waited for."""
    mine = os.getpid()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == mine:
            found.append(int(name))
    return found
