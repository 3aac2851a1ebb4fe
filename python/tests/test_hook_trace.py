"""The hook's trace of a few steps under real PyTorch: same results, and it gives way to the program's own profiler."""

import json
import os
import sys
import unittest

from test_hook import REPOSITORY, HookCase
from test_hook_torch import TORCH

# Steps until the trace was told of: how many that is does not matter to the first fifty losses.
TRAIN = """
import os, sys
import torch
from torch.utils.data import DataLoader, TensorDataset

way = sys.argv[1]
base = os.path.join(os.path.dirname(os.environ.get("STOKER_HOOK_SOCKET", "/nowhere/s")), "trace-%d." % os.getpid())
asked = os.path.isdir(os.path.dirname(base))
own = torch.profiler.profile(schedule=torch.profiler.schedule(wait=10**6, warmup=1, active=1)) if way == "waits" else None
if way == "emulated":
    from stoker.emulated import Device
    device = Device(run_ahead=4)
torch.manual_seed(7)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
losses, told = [], False

def ask():
    with open(base + "tmp", "w") as file:
        file.write('{"steps": 4}')
    os.rename(base + "tmp", base + "ask")

def batches():
    if way != "own":
        yield from DataLoader(data, 4, shuffle=True)
    while way == "own":  # a loop that no loader feeds
        at = torch.randint(60, (1,)).item()
        yield data[at : at + 4]

def epoch():
    global told
    for x, y in batches():
        if asked and len(losses) == 20:
            ask()
        if way == "emulated":
            device.copy(1000)
            device.launch(0.001, "step")
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
        if way == "begins" and asked and not os.path.exists(base + "ask") and not told:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as mine:
                torch.ones(3) + 1
            print("mine", sum(e.count for e in mine.key_averages() if e.key == "aten::add"), file=sys.stderr)
        told = not asked or os.path.exists(base + "told") or way == "ends" and not os.path.exists(base + "ask")
        if told and len(losses) >= 50:
            return

def run():
    while not (told and len(losses) >= 50):
        epoch()

if way == "thread":
    import threading
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
else:
    run()
print(losses[:50])
"""


@unittest.skipUnless(TORCH, "PyTorch is not installed in this Python")
class Trace(HookCase):
    paths = (os.path.join(REPOSITORY, "python"),)

    def trace(self, way):
        """Run the program with a trace asked for; return what was told of it and the result."""
        plain = self.run_alone(TRAIN, way)
        hooked = self.run_program(TRAIN, args=(way,), KINETO_LOG_LEVEL="6")
        self.assertEqual((plain.code, hooked.code), (0, 0), plain.err + hooked.err)
        self.assertEqual(plain.out, hooked.out)
        self.assertEqual(hooked.of("warn"), [])
        files = {name.rpartition(".")[2]: os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.startswith("trace-")}
        with open(files.pop("told")) as file:
            return json.load(file), files, hooked

    def events(self, files):
        self.assertEqual(list(files), ["json"])
        with open(files["json"]) as file:
            return json.load(file)["traceEvents"]

    def test_same_losses(self):
        told, files, result = self.trace("plain")
        self.assertEqual((told["why"], told["steps"], result.err), (None, 4, ""))
        self.assertLess(told["from"], told["to"])
        names = [event.get("name", "") for event in self.events(files)]
        self.assertEqual([n for n in names if n.startswith("ProfilerStep")], ["ProfilerStep#%d" % n for n in (1, 2, 3, 4)])
        self.assertEqual(sum(name.startswith("Optimizer.step") for name in names), 4)

    def test_a_loop_that_no_loader_feeds(self):
        told, files, _ = self.trace("own")
        self.assertIsNone(told["why"])
        self.assertEqual(sum(event.get("name", "").startswith("Optimizer.step") for event in self.events(files)), 4)

    def test_emulated_device(self):
        told, files, _ = self.trace("emulated")
        self.assertIsNone(told["why"])
        # The clocks of the two may differ by more than what is before the first or behind the last launch.
        self.assertIn(sum(event.get("cat") == "kernel" for event in self.events(files)), (3, 4))

    def test_the_programs_own_profiler(self):
        told, files, result = self.trace("waits")  # it records nothing so far, and may at any step
        self.assertEqual((told["why"], files), ("the program has a profiler of its own", {}))
        told, files, result = self.trace("begins")
        # Ours gives way, or has not begun: which of the two depends on the step in which the request is seen.
        self.assertIn(told["why"], ("the program began to profile by itself", "the program has a profiler of its own"))
        self.assertEqual(files, {})
        self.assertIn("mine 1", result.err)

    def test_another_thread_than_the_main_one(self):
        told, files, _ = self.trace("thread")
        self.assertEqual((told["why"], files), ("batches are asked for in another thread than the main one", {}))

    def test_a_program_that_ends_before(self):
        told, files, _ = self.trace("ends")
        if told["why"] is not None:  # it may have been quick
            self.assertEqual((told["why"], files), ("the program ended before its steps were traced", {}))


if __name__ == "__main__":
    sys.exit(unittest.main())
