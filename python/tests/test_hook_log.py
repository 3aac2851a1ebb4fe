"""The hook logs what `observe --log` hands it into the run that the program has open, with stand-ins for W&B and MLflow."""

import os
import unittest

from test_hook import REPOSITORY, HookCase
from test_hook_torch import TORCH

# Three requests, each waited for: how many steps that takes does not matter to the first losses.
TRAIN = """
import json, os, sys, types
import torch
from torch.utils.data import DataLoader, TensorDataset

way = sys.argv[1]
path = os.path.join(os.path.dirname(os.environ.get("STOKER_HOOK_SOCKET", "/nowhere/s")), "log-%d.ask" % os.getpid())
asked = os.path.isdir(os.path.dirname(path))
calls = []

def taken(*args, **more):
    if way == "fails":
        raise OSError("no room")
    calls.append((args, more))

class Run:
    log = staticmethod(taken)

is_open = way != "closed"
sys.modules["wandb"] = types.SimpleNamespace(run=Run() if is_open else None)
sys.modules["mlflow"] = types.SimpleNamespace(active_run=lambda: is_open or None, log_metrics=taken)

def ask(n):
    with open(path + "tmp", "w") as file:
        json.dump({"to": ["wandb", "mlflow"], "step": n, "values": {"stall_ratio": n / 4}}, file)
    os.rename(path + "tmp", path)

torch.manual_seed(7)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
losses, asks = [], 0
while len(losses) < 50 or asked and (asks < 3 or os.path.exists(path)):
    for x, y in DataLoader(data, 4, shuffle=True):
        if asked and asks < 3 and not os.path.exists(path):
            asks += 1
            ask(asks)
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
print(losses[:50])
if asked:
    print(json.dumps(calls), file=sys.stderr)
"""


@unittest.skipUnless(TORCH, "PyTorch is not installed in this Python")
class Log(HookCase):
    paths = (os.path.join(REPOSITORY, "python"),)

    def test_what_the_tools_get(self):
        row = '[[{"stoker/stall_ratio": %g}], {"commit": false}], [[{"stoker/stall_ratio": %g}], {"step": %d, "synchronous": false}]'
        tools = "wandb", "mlflow"
        want = {
            "open": (", ".join(row % (n / 4, n / 4, n) for n in (1, 2, 3)), []),
            "closed": ("", ["--log %s: the program has no run open there" % name for name in tools]),
            "fails": ("", ["%s did not take Stoker's figures, and is not asked again: OSError: no room" % name for name in tools]),
        }
        plain = self.run_program(TRAIN, hook=False, args=("open",))
        for way, (calls, warned) in want.items():
            hooked = self.run_program(TRAIN, args=(way,))
            self.assertEqual((hooked.code, hooked.out), (0, plain.out), hooked.err)
            got = hooked.err, [record["text"] for record in hooked.of("warn")]
            self.assertEqual(got, ("[%s]\n" % calls, warned))


if __name__ == "__main__":
    unittest.main()
