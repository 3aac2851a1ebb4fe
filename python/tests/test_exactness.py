"""The program's code runs once: data sets with a state of their own give the same fed as alone."""

import os
import subprocess
import sys
import unittest

import leash

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("STOKER_BIN") or os.path.join(ROOT, "bin", "stoker")

try:
    import torchvision
except ImportError:
    torchvision = None


@unittest.skipIf(torchvision is None, "needs torch and torchvision")
@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class ExactnessTest(unittest.TestCase):
    def test_quick_table(self):
        """Batches, errors, exit codes and numbers of calls, with 0 workers, and with 2 under --verify."""
        leash.hold(self)
        table = os.path.join(ROOT, "bench", "loader", "exactness.py")
        done = subprocess.run([sys.executable, table, "--quick", "--python", sys.executable, "--stoker", BINARY], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, ": 0 differ")


if __name__ == "__main__":
    unittest.main()
