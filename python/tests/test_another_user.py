"""A command that goes on as another user than root, as a container's entry point does: its Python is as it is alone."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import leash

BINARY = os.environ.get("STOKER_BIN", "")
#: A user whom no file belongs to, and a Python that everybody may run.
USER = 4242
PYTHON = "/usr/bin/python3"
TELL = "import os, sys; print(os.getuid(), sys.path); sys.exit(7)"
BECOME = f"import os, sys; os.setgroups([]); os.setgid({USER}); os.setuid({USER}); os.execv(sys.argv[1], sys.argv[1:])"
COMMAND = [PYTHON, "-c", BECOME, PYTHON, "-c", TELL]
VERBS = {
    "observe": ["observe", "-q", "-o", "run.jsonl.gz", "--"],
    "feed": ["feed", "--"],
    "tune --live": ["tune", "--live", "--"],
}


@unittest.skipUnless(os.access(BINARY, os.X_OK), "needs STOKER_BIN (make build)")
@unittest.skipUnless(sys.platform == "linux" and os.getuid() == 0 and os.access(PYTHON, os.X_OK), f"needs root and {PYTHON}")
class AnotherUserTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def ended(self, words, umask=0o022):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XDG_"))}
        return subprocess.run(
            words, cwd=self.folder, env=kept, umask=umask, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=leash.PATIENCE,
        )  # fmt: skip

    def test_its_python_finds_nothing_of_ours(self):
        alone = self.ended(COMMAND)
        self.assertIn(str(USER), alone.stdout)
        for name, words in VERBS.items():
            with self.subTest(verb=name):
                done = self.ended([BINARY, *words, *COMMAND])
                self.assertEqual((done.returncode, done.stdout), (7, alone.stdout), done.stderr)

    def test_nobody_else_writes_what_root_reads(self):
        for name, words in VERBS.items():
            with self.subTest(verb=name):
                command = [BINARY, *words, PYTHON, "-c", "import os; print(os.environ['PYTHONPATH'])"]
                top = self.ended(command).stdout.strip()
                shutil.rmtree(os.path.join(top, "__pycache__"))  # only what Python compiled
                self.assertEqual(self.ended(command, umask=0).stdout.strip(), top)
                found = [os.path.join(at, name) for at, folders, files in os.walk(top) for name in [".", *files]]
                self.assertIn(os.path.join(top, "__pycache__"), [os.path.dirname(path) for path in found])
                while top != "/":
                    top = os.path.dirname(top)
                    found.append(top)
                for path in found:
                    self.assertEqual((os.stat(path).st_uid, stat.S_IMODE(os.stat(path).st_mode) & 0o022), (0, 0), path)


if __name__ == "__main__":
    unittest.main()
