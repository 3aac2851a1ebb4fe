"""Under small limits (ulimit -n, ulimit -f) a program that runs alone runs fed, and gets the same batches."""

import io
import os
import resource
import subprocess
import sys
import tempfile
import unittest

import leash

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("STOKER_BIN") or os.path.join(ROOT, "bin", "stoker")

try:
    import torchvision
    from PIL import Image
except ImportError:
    torchvision = None

PROGRAM = """
import sys, torch
import torchvision.transforms as T
from torchvision.datasets import ImageFolder
from torch.utils.data import DataLoader
if __name__ == "__main__":
    torch.manual_seed(0)
    data = ImageFolder(sys.argv[1], T.Compose([T.RandomResizedCrop(24), T.ToTensor()]))
    for epoch in range(2):
        print([batch.double().sum().item() for batch, _ in DataLoader(data, 4, num_workers=int(sys.argv[2]))])
"""


@unittest.skipIf(torchvision is None, "needs torch and torchvision")
@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class LimitsTest(unittest.TestCase):
    """The script runs alone under the tightest limit of each number of workers: wider ones give what it gave there."""

    @classmethod
    def setUpClass(cls):
        cls.alone = {}
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        for number in range(16):
            home = os.path.join(cls.folder, "data", f"class{number % 2}")
            os.makedirs(home, exist_ok=True)
            out = io.BytesIO()
            Image.effect_noise((60, 40), 50).convert("RGB").save(out, "JPEG")
            with open(os.path.join(home, f"{number}.jpg"), "wb") as file:
                file.write(out.getvalue())
        cls.script = os.path.join(cls.folder, "train.py")
        with open(cls.script, "w") as file:
            file.write(PROGRAM)

    def setUp(self):
        leash.hold(self)

    def run_under(self, kind, most, workers, *before):
        def limit():
            resource.setrlimit(kind, (most, most))

        command = [*before, sys.executable, self.script, os.path.join(self.folder, "data"), str(workers)]
        environment = {**os.environ, "STOKER_FEED_ALWAYS": "1"}
        return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, env=environment, timeout=300)

    def hold_equal(self, kind, most, workers):
        """Returns what stoker says."""
        if (kind, workers) not in self.alone:
            alone = self.run_under(kind, most, workers)
            self.assertEqual(alone.returncode, 0, alone.stderr)
            self.alone[kind, workers] = alone.stdout
        fed = self.run_under(kind, most, workers, BINARY, "feed", "--")
        self.assertEqual((fed.returncode, fed.stdout), (0, self.alone[kind, workers]), fed.stderr)
        return fed.stderr

    def test_few_descriptors(self):
        """From the fewest with which the script runs alone to some with which it is fed."""
        for workers, limits in ((0, (16, 40)), (2, (28, 64))):
            for most in limits:
                with self.subTest(workers=workers, descriptors=most):
                    said = self.hold_equal(resource.RLIMIT_NOFILE, most, workers)
                    self.assertEqual("ulimit -n" in said, most == limits[0], said)

    def test_small_files(self):
        """A batch has 27,648 bytes."""
        for workers in (0, 2):
            with self.subTest(workers=workers):
                self.assertIn("ulimit -f", self.hold_equal(resource.RLIMIT_FSIZE, 1 << 20, workers))


if __name__ == "__main__":
    unittest.main()
