"""`stoker observe --trace` under real PyTorch on the CPU: the trace, the job's losses bit for bit, loader workers, a killed observe.

To start PyTorch takes seconds: the runs of a test go on at the same time, each with sockets in a folder of its own.
"""

import contextlib
import gzip
import json
import os
import subprocess
import sys
import unittest

from private_folder import private_folder
import leash
from test_hook_torch import TORCH, TRAIN

BINARY = os.environ.get("STOKER_BIN", "")

# An unmodified script: it knows nothing of traces. It trains in each way that is named, 60 steps and until a file is there.
SCRIPT = (
    TRAIN
    + """
import os, time

def run(way, stop):
    loader = DataLoader(Noise(), 4, shuffle=True, num_workers=0 if way == "0" else 2, persistent_workers=way != "0",
                        multiprocessing_context=None if way == "0" else way)
    torch.manual_seed(7)
    model, losses = torch.nn.Linear(8, 1), []
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    while len(losses) < 60 or not os.path.exists(stop):
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
            time.sleep(0.01)
    print(way, *losses, flush=True)

if __name__ == "__main__":
    torch.set_num_threads(1)
    for way in sys.argv[2:]:
        run(way, sys.argv[1])
"""
)

WAYS = ("0", "fork", "spawn")
MORE = {"0": ["--trace-stacks"], "fork": ["--trace-shapes"]}


@unittest.skipUnless(TORCH and os.access(BINARY, os.X_OK), "needs PyTorch and STOKER_BIN; make test-torch has both")
class CaptureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.folder = stack.enter_context(private_folder())
        with open(os.path.join(cls.folder, "train.py"), "w") as file:
            file.write(SCRIPT)
        out, _ = cls.start("/", *WAYS, observe=None).communicate(timeout=leash.PATIENCE)
        cls.plain = {line.split()[0]: line.split()[1:] for line in out.splitlines()}

    @classmethod
    def start(cls, stop, *ways, observe=(), name="plain"):
        command = [sys.executable, os.path.join(cls.folder, "train.py"), stop, *ways]
        if observe is not None:
            command = [BINARY, "observe", "-o", os.path.join(cls.folder, name + ".jsonl.gz"), *observe, "--", *command]
        env = {k: v for k, v in os.environ.items() if not k.startswith(("STOKER_", "KINETO_"))}
        return subprocess.Popen(command, env=env, cwd=cls.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def setUp(self):
        leash.hold(self)

    def until(self, process, *words):
        """Read what a process says on stderr up to a line with one of some words."""
        said = ""
        for line in process.stderr:
            said += line
            if any(word in line for word in words):
                return said
        self.fail("it ended without a word of %s: %s" % (words, said))

    def facts(self, name):
        facts = {}
        with gzip.open(os.path.join(self.folder, name + ".jsonl.gz"), "rt") as lines:
            for line in lines:
                facts = json.loads(line).get("facts") or facts
        return facts

    def same(self, out, way):
        """The traced run may be the longer one; up to the plain one's end they are the same, bit for bit."""
        name, *losses = out.split()
        self.assertEqual(name, way)
        self.assertGreaterEqual(len(self.plain[way]), 60)
        self.assertEqual(losses[: len(self.plain[way])], self.plain[way])

    def test_traces_and_losses(self):
        stop = os.path.join(self.folder, "stop")
        runs = {}
        for way in WAYS:
            flags = ["--trace", "5", *MORE.get(way, ())]
            runs[way] = self.start(stop + way, way, observe=flags, name="run-" + way)
        for way in WAYS:
            said = self.until(runs[way], "is kept")
            with open(stop + way, "w"):
                pass
            out, rest = runs[way].communicate(timeout=leash.PATIENCE)
            err = said + rest
            self.assertEqual(runs[way].returncode, 0, err)
            self.same(out, way)
            facts = self.facts("run-" + way)
            self.assertEqual(len(facts["captures"]), 1, err)  # workers are no ranks
            capture = facts["captures"][0]
            self.assertEqual([p["role"] for p in facts["processes"] if p["pid"] == capture["pid"]], ["trainer"])
            with open(os.path.join(self.folder, capture["file"])) as file:
                events = json.load(file)["traceEvents"]
            names = [event.get("name", "") for event in events]
            self.assertEqual(sum(name.startswith("ProfilerStep#") for name in names), 5)
            self.assertEqual(sum(name.startswith("Optimizer.step#") for name in names), 5)
            self.assertTrue(any(name.startswith("enumerate(DataLoader)#") for name in names))
            self.assertEqual(any("train.py(" in name for name in names), way == "0")  # stacks where they were asked for
            self.assertEqual(any("Input Dims" in event.get("args", {}) for event in events), way == "fork")  # and shapes
            self.assertIn("operators, ", err)
            self.assertIn("from the request to the file", err)
            self.assertNotIn("DeviceProperties", err)  # libkineto's own words stay out of the program's stderr

    def test_a_killed_observe(self):
        stop = os.path.join(self.folder, "stop-killed")
        observed = self.start(stop, "0", observe=["--trace", "5"], name="killed")
        self.until(observed, "is asked for")
        observed.kill()
        observed.wait()
        observed.stderr.close()  # which breaks a pipe for whoever writes to it
        with open(stop, "w"):
            pass
        out = observed.stdout.read()
        observed.stdout.close()
        self.same(out, "0")


if __name__ == "__main__":
    unittest.main()
