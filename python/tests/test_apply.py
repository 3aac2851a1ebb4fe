"""The hook's part that applies a plan, under real PyTorch on the CPU: the same losses to the bit, or the program's own settings and a line.

To start PyTorch takes seconds, so that one program trains in many ways, once as it is and once with a plan.
"""

import glob
import json
import os
import sys
import unittest

from test_hook import HOOK, HookCase

TORCH = glob.glob(os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", "python*", "site-packages", "torch", "version.py"))

TRAIN = """
import gc, logging, os, random, sys, warnings
import torch
warnings.simplefilter("ignore")  # of pinning without a device
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

class Plain(Dataset):
    def __len__(self): return 23
    def __getitem__(self, i): return torch.randn(4, generator=torch.Generator().manual_seed(i)), torch.tensor([float(i)])

class Kept(Plain): pass
class More(Plain): pass
class Resumed(Plain): pass
class Twice(Plain): pass
class Wrong(Plain): pass

class Logs(Plain):
    def __init__(self):
        self.log, self.err = logging.getLogger("data"), sys.stderr
        self.log.addHandler(logging.StreamHandler(sys.stderr))

class Epochs(Plain):
    def __init__(self): self.box = {"epoch": 0}
    def __getitem__(self, i): return super().__getitem__(i)[0] + self.box["epoch"], torch.tensor([float(i)])

class Draws(Plain):
    def __getitem__(self, i): return super().__getitem__(i)[0] + random.random(), torch.tensor([float(i)])

class Ahead(Draws): pass

class Counts(Plain):
    def __init__(self): self.n = 0
    def __getitem__(self, i):
        self.n += 1
        return super().__getitem__(i)[0] + self.n, torch.tensor([float(i)])

class Opened(Plain):
    def __init__(self): self.file = open(__file__, "rb")
    def __getitem__(self, i):
        self.file.seek(i)
        return super().__getitem__(i)[0] + self.file.read(1)[0], torch.tensor([float(i)])

class Workers(Plain):  # what no look at the data set shows
    def __getitem__(self, i): return super().__getitem__(i)[0] + (os.getpid() != MAIN), torch.tensor([float(i)])

class Dies(Plain):
    def __getitem__(self, i):
        if os.getpid() != MAIN: raise OSError("no such device in a worker")
        return super().__getitem__(i)

class Bad(Plain):
    def __getitem__(self, i):
        if i == 22: raise ValueError("bad sample")
        return super().__getitem__(i)

class Stream(IterableDataset):
    def __iter__(self): return iter((torch.ones(4) * i, torch.ones(1)) for i in range(12))

class Hard(Plain): pass

class Hardest(Sampler):
    def __iter__(self): return (int(torch.randint(23, ())) for _ in range(20))
    def __len__(self): return 20

MAIN = os.getpid()

def make(kind, workers=0, keep=False, sampler=None):
    shuffle = None if kind is Stream or sampler else True
    return DataLoader(kind(), 3, shuffle=shuffle, num_workers=workers, sampler=sampler, persistent_workers=keep)

def train(loader, epochs):
    torch.manual_seed(7); random.seed(7)
    model = torch.nn.Sequential(torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    said = []
    for epoch in range(epochs):
        getattr(loader.dataset, "box", {})["epoch"] = epoch
        try:
            for number, (x, y) in enumerate(loader):
                loss = ((model(x) - y) ** 2).mean()
                optimizer.zero_grad(); loss.backward(); optimizer.step()
                said.append(loss.item().hex())
                if epoch == 1 and number == 3: break
        except Exception as error:
            said.append(type(error).__name__)
        said.append(torch.rand(1).item().hex())
    return said

if __name__ == "__main__":
    torch.set_num_threads(1)
    ways = {Hard: dict(sampler=Hardest()), More: dict(workers=1), Resumed: dict(workers=1, keep=True), Ahead: dict(workers=2), Wrong: dict(workers=1)}
    for kind in (Plain, Logs, Kept, Epochs, Draws, Counts, Opened, Workers, Dies, Bad, Stream, Hard, More, Resumed, Ahead, Wrong, Twice):
        if "STOKER_PLAN" in os.environ:
            print("== " + kind.__name__, file=sys.stderr, flush=True)
        loader = make(kind, **ways.get(kind, {}))
        if kind is Twice:
            print("Twice", [(a[1].tolist(), b[1].tolist()) for _ in range(2) for a, b in zip(loader, loader)])
        else:
            print(kind.__name__, train(loader, 3 if kind in (Kept, Epochs, Resumed, More) else 2))
        del loader
        gc.collect()  # torch complains where an iterator is collected in a forked worker
"""

# The same with other settings in each epoch: what a decision finds depends on the clock, what a batch holds must not.
LIVE = TRAIN.partition('if __name__ == "__main__":')[0] + """
if __name__ == "__main__":
    torch.set_num_threads(1)
    live = sys.modules["_stoker_hook"].part("live") if "STOKER_LIVE" in os.environ else None
    ways = {Plain: {}, More: dict(workers=1), Resumed: dict(workers=1, keep=True), Draws: {}, Counts: dict(workers=1), Hard: dict(sampler=Hardest())}
    if live:
        live.STEPS, live.SECONDS = 3, 0.0
        os.sched_getaffinity = lambda pid: {0}  # 4 workers at most
    for kind, way in ways.items():
        if live:
            times = iter((4.0, 2.0, 3.0, 1.0))
            live._measure = lambda epoch: (lambda step: (step, 0.9 * step))(next(times))
        print(kind.__name__, train(make(kind, **way), 5))
"""

#: What was decided of each.
DECIDED = {
    "Plain": ["kept", "taken back"], "More": ["kept", "taken back", "kept"], "Resumed": ["kept", "taken back", "kept"],
    "Counts": ["kept", "taken back"], "Draws": [], "Hard": [],
}  # fmt: skip

WORKERS = ("num_workers", 0, 2)
KEEP = ("persistent_workers", False, True)
PLAN = {
    "Plain": [WORKERS], "Logs": [WORKERS], "Kept": [WORKERS, KEEP], "Epochs": [WORKERS, KEEP], "Draws": [WORKERS], "Counts": [WORKERS], "Opened": [WORKERS],
    "Workers": [WORKERS], "Dies": [WORKERS], "Bad": [WORKERS], "Stream": [WORKERS], "Hard": [WORKERS], "Twice": [WORKERS, KEEP],
    "More": [("num_workers", 1, 2), KEEP], "Resumed": [("num_workers", 1, 2)], "Ahead": [("prefetch_factor", 2, 4), ("pin_memory", False, True)],
    "Wrong": [("num_workers", 3, 2)], "Nobody": [WORKERS],
}  # fmt: skip


#: What is said of a loader that is left as it is; "" where the plan is applied.
SAID = {
    "Plain": "", "Logs": "", "Kept": "", "Epochs": "", "Bad": "", "More": "", "Resumed": "", "Ahead": "", "Twice": "",
    "Draws": "draws random numbers (random)", "Counts": "changes while it is read", "Opened": "holds an open file (_io.BufferedReader)",
    "Workers": "a worker made another batch", "Dies": "no such device in a worker", "Stream": "is iterable", "Hard": "Hardest may draw",
    "Wrong": "num_workers is 1 here, and 3 in the plan",
}  # fmt: skip


@unittest.skipUnless(TORCH, "torch is not installed in this Python")
class Apply(HookCase):
    def plan(self, source, loaders):
        """Write a plan for the DataLoaders that the line with `return DataLoader(` makes; the file's name."""
        lines = source.splitlines()
        line = 1 + next(n for n, text in enumerate(lines) if "return DataLoader(" in text)
        call = "%s:%d" % (os.path.join(self.folder, "program.py"), line)
        keys = ("setting", "from", "to")
        entries = [{"call": call, "dataset": name, "changes": [dict(zip(keys, change)) for change in loaders[name]]} for name in loaders]
        path = os.path.join(self.folder, "plan.json")
        with open(path, "w") as file:
            json.dump({"loaders": entries}, file)
        return path

    def test_same_losses_or_left_as_it_is(self):
        path = self.plan(TRAIN, PLAN)
        plain = self.run_alone(TRAIN)
        applied = self.run_program(TRAIN, STOKER_PLAN=path)
        self.assertEqual(plain.out.splitlines(), applied.out.splitlines(), applied.err)
        self.assertEqual((plain.err, applied.code), ("", 0), applied.err)
        for name, said in SAID.items():
            told = [line for line in ("\n" + applied.err.partition("== %s\n" % name)[2]).partition("\n== ")[0].splitlines() if "stoker: plan" in line]
            self.assertEqual(["left as it is" in line for line in told].count(True), int(bool(said)), (name, told))
            self.assertIn(said, "".join(told), name)
        self.assertIn("no DataLoader over Nobody was iterated", applied.err)
        # What was observed of it are the settings in use.
        used = {loader["dataset"]: loader["num_workers"] for loader in applied.of("loader")}
        self.assertEqual({name: used[name] for name in ("Plain", "Draws", "Workers", "More", "Wrong")}, {"Plain": 2, "Draws": 0, "Workers": 0, "More": 2, "Wrong": 1})
        self.assertTrue(all(loader["call_file"].endswith("program.py") for loader in applied.of("loader")))
        self.assertIn("random", {name for fetches in applied.of("fetch") for name in fetches["drew"]})

    def test_live_the_same_losses_whatever_is_tried(self):
        folder = os.path.join(self.folder, "live")
        os.mkdir(folder)
        plain = self.run_alone(LIVE)
        tuned = self.run_program(LIVE, reader=None, STOKER_LIVE=folder)
        self.assertEqual(plain.out.splitlines(), tuned.out.splitlines(), tuned.err)
        self.assertEqual((plain.err, tuned.code), ("", 0), tuned.err)
        with open(os.path.join(folder, "log.jsonl")) as file:
            log = [json.loads(line) for line in file]
        for name, decided in DECIDED.items():
            self.assertEqual([told["decided"] for told in log if told["dataset"] == name], ["as it is"] * bool(decided or name == "Draws") + decided, (name, tuned.err))
        self.assertIn("draws random numbers (random)", tuned.err)
        self.assertIn("Hardest may draw", tuned.err)
        self.assertRegex(tuned.err, r"live: kept at .*program\.py:\d+: num_workers=2, prefetch_factor=4: \d.*x, .* ms a step, write DataLoader\(\.\.\., num_workers=2, prefetch_factor=4\)")
        self.assertRegex(tuned.err.splitlines()[-1], r"stoker tune --plan .*plan\.json -- CMD$")
        with open(os.path.join(folder, "plan.json")) as file:
            plan = json.load(file)
        found = {one["dataset"]: {change["setting"]: change["to"] for change in one["changes"]} for one in plan["loaders"]}
        self.assertEqual(found["More"], {"num_workers": 2, "prefetch_factor": 4})
        self.assertEqual(found["Counts"], {"prefetch_factor": 4})
        self.assertEqual(sorted(os.listdir(folder)), ["log.jsonl", "plan.json", "state-Counts"])

    def test_a_plan_that_cannot_be_read_leaves_the_program_alone(self):
        for text in (None, "{", "[]"):
            path = os.path.join(self.folder, "broken.json")
            if text:
                with open(path, "w") as file:
                    file.write(text)
            result = self.run_program("print('ran')", reader=None, STOKER_PLAN=path)
            self.assertEqual((result.code, result.out), (0, "ran\n"), result.err)
            self.assertIn("stoker: plan: CMD runs with its own settings: read plan", result.err)


# What changes numbers, of the whole program. A case is a module; each begins with the settings of the plan not set yet.
NUMBERS = """
import json, os, sys
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

part = sys.modules["_stoker_hook"].part("precision") if "STOKER_PLAN" in os.environ or "STOKER_LOSSES" in os.environ else None
wanted = dict(part._wanted) if part else {}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 1)
        self.seen = []

    def forward(self, x):
        self.seen.append(str(self.first(x).dtype))
        return self.last(self.drop(self.norm(self.first(x))))

class Nested(Net):
    def forward(self, x): return {"out": (super().forward(x), [x.bfloat16()]), "n": 3}

class Fails(Net):  # torch.nn.functional.binary_cross_entropy refuses to run under the autocast of CUDA
    def forward(self, x):
        out = super().forward(x)
        if out.dtype != torch.float32: raise RuntimeError("unsafe to autocast")
        return out

class Own(Net): pass
class Double(Net): pass
class Compiled(Net): pass

class Checked(Net):
    def forward(self, x): return checkpoint(super().forward, x, use_reentrant=False)

class Set(Net): pass

def train(kind):
    torch.manual_seed(3)
    net = kind().double() if kind is Double else kind()
    run = torch.compile(net, backend="eager") if kind is Compiled else net
    optimizer, losses, types = torch.optim.SGD(net.parameters(), 0.1), [], set()
    for step in range(4):
        x = torch.randn(6, 8, dtype=torch.float64 if kind is Double else None)
        with torch.autocast("cpu", torch.bfloat16, enabled=kind is Own):
            out = run(x)
        if kind is Nested:
            assert out["n"] == 3 and out["out"][1][0].dtype == torch.float32 or part is None or not wanted
            out = out["out"][0]
        types.add(str(out.dtype))
        loss = ((out - 1) ** 2).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        losses.append(loss.item())
    assert all(p.dtype == p.grad.dtype for p in net.parameters()), kind
    net.eval()
    with torch.no_grad():
        types.add("evaluated " + str(net(x)["out"][0].dtype if kind is Nested else net(x).dtype))
    return {"losses": losses, "types": sorted(types), "seen": sorted(set(net.seen)), "buffer": net.norm.running_mean.sum().item()}

if __name__ == "__main__":
    torch.set_num_threads(1)
    ours = nn.Module.__call__
    for kind in (Net, Nested, Fails, Own, Double, Checked, Set) + (Compiled,) * bool(wanted):  # to compile takes seconds
        print("== " + kind.__name__, file=sys.stderr, flush=True)
        if part:
            nn.Module.__call__ = ours
            sys.modules["_stoker_hook"].now.autocasts = False
            part._wanted.clear(); part._wanted.update(wanted)
            sys.modules["_stoker_hook"].part("voice")._said.clear()
        torch.set_float32_matmul_precision("high" if kind is Set else "highest")
        print(kind.__name__, json.dumps(train(kind)), torch.get_float32_matmul_precision())
        if part: part._wanted.clear()
"""

TF32, BF16 = ("tf32", False, True), ("precision", "float32", "bf16")


@unittest.skipUnless(TORCH, "torch is not installed in this Python")
class Numbers(HookCase):
    def numbers(self, changes, **more):
        path = os.path.join(self.folder, "plan.json")
        with open(path, "w") as file:
            json.dump({"loaders": [], "program": [dict(zip(("setting", "from", "to"), change)) for change in changes]}, file)
        more["STOKER_PLAN"] = path
        return self.trained(self.run_program(NUMBERS, reader=None, **more))

    def trained(self, result):
        self.assertEqual(result.code, 0, result.err)
        found, told = {}, {}
        for line in result.out.splitlines():
            name, _, rest = line.partition(" ")
            text, _, matmul = rest.rpartition(" ")
            found[name] = dict(json.loads(text), matmul=matmul)
        for block in result.err.split("== ")[1:]:
            name, _, lines = block.partition("\n")
            told[name] = lines
        return found, told, result

    def test_losses_are_written_down_and_passes_that_train_alone_are_changed(self):
        path = os.path.join(self.folder, "losses")
        plain, _, was = self.trained(self.run_alone(NUMBERS))
        # Without --allow precision a plan sets none of it; and who reads losses changes nothing.
        _, _, read = self.numbers([TF32, BF16], STOKER_LOSSES=path)
        self.assertEqual(was.out, read.out)
        self.assertNotIn("stoker", read.err)
        with open(path) as file:
            self.assertEqual([float(line) for line in file], [loss for one in plain.values() for loss in one["losses"]])
        set, told, _ = self.numbers([TF32, BF16], STOKER_PLAN_ALLOW="precision")
        float32, evaluated = "torch.float32", "evaluated torch.float32"
        plain["Compiled"] = plain["Net"]
        for name in ("Net", "Nested", "Checked", "Compiled"):
            self.assertEqual(set[name]["types"], [evaluated, float32], name)
            self.assertEqual(set[name]["seen"], ["torch.bfloat16", float32], name)
            self.assertNotEqual(set[name]["losses"], plain[name]["losses"], name)
            for a, b in zip(set[name]["losses"], plain[name]["losses"]):
                self.assertLess(abs(a - b), 0.05, name)
            self.assertIn("precision float32 -> bf16", told[name])
            self.assertEqual(set[name]["matmul"], "high", name)
        for name, why in {"Fails": "unsafe to autocast", "Own": "autocast of its own", "Double": "parameters are float64 on cpu"}.items():
            self.assertIn("precision is left as it is: ", told[name])
            self.assertIn(why, told[name])
            self.assertEqual((set[name]["losses"], set[name]["buffer"]), (plain[name]["losses"], plain[name]["buffer"]), name)
        self.assertIn("tf32 is left as it is: torch.get_float32_matmul_precision() is 'high'", told["Set"])
