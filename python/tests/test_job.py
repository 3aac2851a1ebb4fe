"""Ranks of one torchrun, each with a recording of its own, one of them with a slow disk: `stoker diagnose FOLDER` names it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import leash
from test_hook_torch import TORCH

BINARY = os.environ.get("STOKER_BIN", "")
CLIENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

TRAIN = """
import os, time
import torch, torch.distributed
from torch.utils.data import DataLoader, Dataset
from stoker import emulated

SLOW = os.environ["RANK"] == "1"

class Files(Dataset):
    def __len__(self): return 8 * 40
    def __getitem__(self, i):
        time.sleep(0.008 if SLOW else 0.0005)
        return torch.zeros(8)

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    device = emulated.Device()
    for batch in DataLoader(Files(), 8, num_workers=1):
        device.launch(0.02)
        device.synchronize(spin=False)
        torch.distributed.all_reduce(torch.zeros(4))
    torch.distributed.destroy_process_group()
"""


def emulates():
    return os.path.exists(os.path.join(os.path.dirname(BINARY), "libnvidia-ml.so.1"))


@unittest.skipUnless(TORCH and os.access(BINARY, os.X_OK) and emulates(), "needs PyTorch, STOKER_BIN and make emulate; make test-torch has all")
class JobTest(unittest.TestCase):
    def test_the_rank_with_the_slow_disk_is_named(self):
        leash.hold(self)
        with tempfile.TemporaryDirectory() as folder:
            script, out = os.path.join(folder, "train.py"), os.path.join(folder, "recordings")
            with open(script, "w") as file:
                file.write(TRAIN)
            os.mkdir(out)
            torchrun = [sys.executable, "-m", "torch.distributed.run", "--rdzv-id=job7", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]
            environment = dict(os.environ, STOKER_EMULATE="1", PYTHONPATH=CLIENT, OMP_NUM_THREADS="1")
            run = subprocess.run(
                [*torchrun, "--nproc-per-node=2", "--no-python", BINARY, "observe", "-q", "-o", out, "--", sys.executable, script],
                env=environment, capture_output=True, text=True, timeout=leash.PATIENCE,
            )  # fmt: skip
            self.assertEqual(run.returncode, 0, run.stderr)
            told = subprocess.run([BINARY, "diagnose", "--json", out], capture_output=True, text=True, timeout=leash.PATIENCE)
            self.assertEqual(told.returncode, 0, told.stderr)
            verdict = json.loads(told.stdout)
            job = verdict["job"]
            self.assertEqual((job["name"], job["world"], job["late"], job["missing_ranks"]), ("TORCHELASTIC_RUN_ID=job7", 2, [1], []))
            self.assertIn("-r1-", job["recording"])
            self.assertEqual(verdict["verdict"]["rank"], 1)
            self.assertIn("rank 1 waits for input", verdict["evidence"][0]["text"])


if __name__ == "__main__":
    unittest.main()
