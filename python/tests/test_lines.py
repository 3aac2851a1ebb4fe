"""`stoker observe` names the slow line of an unchanged script, in the process itself and in workers; its losses are the same bit for bit."""

import contextlib
import gzip
import json
import os
import subprocess
import sys
import time
import unittest
import zlib

from private_folder import private_folder
import leash
from test_hook_torch import TORCH

BINARY = os.environ.get("STOKER_BIN", "")

SCRIPT = """
import os, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Faces(Dataset):
    def __len__(self):
        return 100000
    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.rand(8, generator=generator) + heavy(index)

def heavy(index):
    total = 0
    for i in range(60000):
        total += i * index % 7  # the slow line
    return total % 3

torch.set_num_threads(1)
torch.manual_seed(7)
model, losses = torch.nn.Linear(8, 1), []
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for batch in DataLoader(Faces(), 4, shuffle=True, num_workers=int(sys.argv[1])):
    loss = (model(batch) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item().hex())
    if len(losses) >= 100 and os.path.exists(sys.argv[2]):
        break
print(*losses)
"""
LINE = next(n + 1 for n, text in enumerate(SCRIPT.splitlines()) if "the slow line" in text)


@unittest.skipUnless(TORCH and os.access(BINARY, os.X_OK), "needs PyTorch and STOKER_BIN; make test-torch has both")
class LinesTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)

    def test_the_slow_line(self):
        for workers in ("0", "2"):
            with self.subTest(workers=workers), private_folder() as folder:
                train = self.script(folder)
                plain = self.run_in(folder, *train, workers, "/").split()
                run, stop = os.path.join(folder, "run.jsonl.gz"), os.path.join(folder, "stop")
                observed = self.start(folder, BINARY, "observe", "-q", "-o", run, "--", *train, workers, stop)
                while self.looks(run) < 200:
                    self.assertIsNone(observed.poll())
                    time.sleep(0.1)
                open(stop, "w").close()
                seen = observed.communicate()[0].split()
                self.assertEqual(seen[:100], plain[:100])
                self.assertEqual(len(plain), 100)
                lines = json.loads(self.run_in(folder, BINARY, "diagnose", "--json", run))["lines"]
                self.assertEqual((lines[0]["file"], lines[0]["function"], lines[0]["kind"]), (train[1], "heavy", "elements"))
                self.assertIn(lines[0]["line"], (LINE - 1, LINE))  # of the loop, the line with more of it
                self.assertGreater(lines[0]["share"]["high"], 0.7)

    def test_no_lines(self):
        with private_folder() as folder:
            run, profile = os.path.join(folder, "run.jsonl.gz"), os.path.join(folder, "lines.pb")
            self.run_in(folder, BINARY, "observe", "-q", "--no-lines", "-o", run, "--", *self.script(folder), "0", "/")
            self.assertIsNone(json.loads(self.run_in(folder, BINARY, "diagnose", "--json", run))["lines"])
            ended = subprocess.run([BINARY, "diagnose", "--pprof", profile, run], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("does not tell on which lines", ended.stderr)
            self.assertFalse(os.path.exists(profile))

    def script(self, folder):
        path = os.path.join(folder, "train.py")
        with open(path, "w") as file:
            file.write(SCRIPT)
        return sys.executable, path

    def looks(self, run):
        """How often a loading thread was looked at so far, by a recording that is being written."""
        looks = 0
        with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(run, "rt") as lines:
            for line in lines:
                if '"fetch.looks"' in line:
                    looks = json.loads(line)["value"]
        return looks

    def start(self, folder, *command):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("STOKER_")}
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)

    def run_in(self, folder, *command):
        process = self.start(folder, *command)
        out = process.communicate()[0]
        self.assertEqual(process.returncode, 0)
        return out


if __name__ == "__main__":
    unittest.main()
