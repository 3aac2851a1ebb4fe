"""What is inside of a step (python/hook/inside.py): on a stand-in for torch whose clock only moves when it is told, and on real PyTorch."""

import unittest

import test_hook_torch
from test_hook import CLIENT, CLOCK, FAKE, FakeCase, HookCase

MS = 1_000_000

# A model whose passes take device time: forward 2 ms, backward 4 ms, optimizer 1 ms.
MODEL = {
    "__init__.py": FAKE["__init__.py"]
    + """
        from . import autograd, nn
        from .serialization import save
        wait = cuda.synchronize
        class Tensor(Tensor):
            def __init__(self, *shape, on="cpu", pinned=False):
                self.shape, self.device, self.pinned = shape, type("device", (), {"type": on}), pinned
            def is_pinned(self): return self.pinned
            def to(self, on):
                if on == "cuda" and self.device.type == "cpu":
                    cuda.launch(0.003)
                    if not self.pinned: wait()
                return Tensor(*self.shape, on=on)
            def cuda(self): return self.to("cuda")
            def item(self):
                if self.device.type == "cuda": wait()
                return 1.5
            tolist = cpu = numpy = nonzero = item
            def __bool__(self): return bool(self.item())
            def __int__(self): return int(self.item())
            def __float__(self): return float(self.item())
            def backward(self): autograd.backward(self)
        nn.Parameter = type("Parameter", (Tensor,), {})
    """,
    "nn/__init__.py": "from .modules import module",
    "nn/modules/__init__.py": "",
    "nn/modules/module.py": """
        class Module:
            training = True
            def children(self): return getattr(self, "layers", ())
            def train(self, mode=True):
                self.training = mode
                for child in self.children(): child.train(mode)
                return self
            def eval(self): return self.train(False)
            def _wrapped_call_impl(self, *args, **kwargs): return self.forward(*args, **kwargs)
            __call__ = _wrapped_call_impl
    """,
    "serialization.py": """
        import time
        def save(thing, file, how="pickle"): time.sleep(thing)
    """,
    "autograd/__init__.py": """
        before = []
        def backward(tensors, grad_tensors=None, retain_graph=None):
            import torch
            for work in before: work()
            torch.cuda.launch(0.004)
        def grad(outputs, inputs): return backward(outputs)
    """,
    "optim/optimizer.py": FAKE["optim/optimizer.py"]
    + """
        before_hooks = {}
        def register_optimizer_step_pre_hook(hook):
            before_hooks[0] = hook
        class Optimizer(Optimizer):
            def __init__(self, *inner):
                super().__init__()
                self.inner = inner
            def step(self, closure=None):
                import torch
                for hook in before_hooks.values(): hook(self, (), {})
                if closure is not None: closure()
                for inner in self.inner: inner.step()
                torch.cuda.launch(0.001)
                for hook in hooks.values(): hook(self, (), {})
    """,
}

LOOP = (
    CLOCK
    + """
    import torch
    from torch.utils.data import DataLoader
    torch.cuda.time = time  # the clock that only sleeping moves
    inside, own = (sys.modules["_stoker_hook"].now.parts[name] for name in ("inside", "own"))
    inside.monotonic_ns, inside.EVERY_NS, inside.SHARE = (lambda: now[0]), 0, 0
    own.monotonic_ns = lambda: now[0]
    (code,) = (swap.theirs for swap in inside._swaps if swap.function is torch.nn.module.Module.__call__)
    torch.cuda.init()
    data = [torch.Tensor(3, 4) for _ in range(14)]
    class Layer(torch.nn.module.Module):
        def forward(self, x):
            torch.cuda.launch(0.001)
            return x
    class Model(torch.nn.module.Module):
        def __init__(self): self.layers = Layer(), Layer()
        def forward(self, x):
            for layer in self.layers: x = layer(x)
            return x
    model, optimizer = Model(), torch.optim.optimizer.Optimizer()
    def load(batch):
        time.sleep(0.005)
        return batch[0]
    def finish():
        torch.cuda.synchronize()
        for batch in DataLoader(data, 7): pass
        print(torch.cuda.violations)
"""
)


class InsideCase(FakeCase):
    def setUp(self):
        super().setUp()
        self.write(self.fake, "torch", MODEL)

    def insides(self, body, **more):
        result = self.silent(self.run_program(LOOP + body + "\n    finish()", **more), "[]\n")
        self.assertEqual(result.of("warn"), [])
        return result.of("inside")

    def parts(self, body, **more):
        """The parts in ms of the last sampled step but one, which the epoch's beginning and end do not touch."""
        found = self.insides(body, **more)
        self.assertGreaterEqual(len(found), 3)
        told = found[-2]
        self.assertAlmostEqual(told["span"], sum(told[name] for name in self.NAMES) + self.rest(told), delta=10)
        return {name: round(told[name] / MS, 3) for name in self.NAMES if told[name] > MS / 1000}, round(self.rest(told) / MS, 3), told

    NAMES = ("input", "copy", "forward", "backward", "optimizer", "exchange")

    def rest(self, told):
        return told["span"] - sum(told[name] for name in self.NAMES)


class Tree(InsideCase):
    def test_parts_are_times_of_the_device(self):
        body = """
    for batch in DataLoader(data, 1, collate_fn=load):
        loss = model(batch.to("cuda"))
        optimizer.step() if loss.backward() is None else None
        torch.cuda.synchronize()
        time.sleep(0.0005)
        """
        parts, rest, told = self.parts(body)
        # The host waits 5 ms for input while the device has nothing to do, and copies 3 ms from pageable memory.
        self.assertEqual(parts, {"input": 5, "copy": 3, "forward": 2, "backward": 4, "optimizer": 1})
        self.assertEqual(rest, 0.5)
        self.assertEqual((told["clock"], told["copies"], told["bytes"], told["pageable"]), ("cuda", 1, 48, 48))
        self.assertEqual((told["syncs"], told["waited"] / MS, told["launches"]), (1, 7, None))

    def test_modules_within_loading_are_input(self):
        """Transforms are modules as well."""
        body = """
    class Transform(torch.nn.module.Module):
        def forward(self, batch): return load(batch)
    for batch in DataLoader(data, 1, collate_fn=Transform()):
        loss = model(batch.to("cuda"))
        optimizer.step() if loss.backward() is None else None
        torch.cuda.synchronize()
        """
        self.assertEqual(self.parts(body)[0], {"input": 5, "copy": 3, "forward": 2, "backward": 4, "optimizer": 1})

    def test_the_wait_that_queued_work_covers_is_no_input(self):
        body = """
    for batch in DataLoader(data, 1, collate_fn=load):
        loss = model(batch.to("cuda" if False else "cpu"))
        loss.backward(); optimizer.step()
        """
        parts, rest, told = self.parts(body)
        self.assertEqual((parts, rest), ({"forward": 2, "backward": 4, "optimizer": 1}, 0))
        self.assertEqual((told["copies"], told["syncs"]), (0, 0))

    def test_nothing_counts_twice(self):
        """A closure within the step, two optimizers, accumulation, recomputation in backward, an optimizer in an optimizer."""
        loops = {
            "optimizer.step(lambda: model(batch).backward())": {"forward": 2, "backward": 4, "optimizer": 1},
            "model(batch).backward(); optimizer.step(); model(batch).backward(); second.step()": {"forward": 4, "backward": 8, "optimizer": 2},
            "for _ in range(3): model(batch).backward()\n        optimizer.step()": {"forward": 6, "backward": 12, "optimizer": 1},
            "again.append(batch); model(batch).backward(); optimizer.step()": {"forward": 2, "backward": 6, "optimizer": 1},
            "model(batch).backward(); outer.step()": {"forward": 2, "backward": 4, "optimizer": 2},
            "torch.autograd.grad(model(batch), []); optimizer.step()": {"forward": 2, "backward": 4, "optimizer": 1},
        }
        for loop, want in loops.items():
            body = """
    second, outer, again = torch.optim.optimizer.Optimizer(), torch.optim.optimizer.Optimizer(optimizer), []
    torch.autograd.before.append(lambda: [model(x) for x in again[-1:]])
    for batch in DataLoader(data, 1, collate_fn=lambda b: b[0]):
        LOOP
        torch.cuda.synchronize()
            """.replace("LOOP", loop)
            parts, rest, _ = self.parts(body)
            self.assertEqual((parts, rest), (want, 0), loop)

    def test_another_loader_within_is_input_too(self):
        body = """
    other = iter(DataLoader(data * 9, 1, collate_fn=load))
    for batch in DataLoader(data, 1, collate_fn=load):
        model(next(other)).backward(); optimizer.step()
        torch.cuda.synchronize()
        """
        self.assertEqual(self.parts(body)[0]["input"], 10)

    def test_an_epoch_ends_no_step(self):
        body = """
    for epoch in range(3):
        for batch in DataLoader(data, 2, collate_fn=load):
            model(batch).backward(); optimizer.step()
        time.sleep(5)
        """
        self.assertLess(max(told["span"] for told in self.insides(body)), 100 * MS)

    def test_no_device_is_the_host_s_clock(self):
        body = """
    torch.cuda.is_initialized = lambda: False
    torch.cuda.launch = lambda seconds: time.sleep(seconds)
    for batch in DataLoader(data, 1, collate_fn=load):
        model(batch).backward(); optimizer.step()
        """
        parts, rest, told = self.parts(body)
        self.assertEqual((parts, rest, told["clock"]), ({"input": 5, "forward": 2, "backward": 4, "optimizer": 1}, 0, "host"))
        self.assertEqual((told["syncs"], told["copies"], told["launches"]), (None, None, None))

    def test_the_emulated_device_tells_its_launches(self):
        self.paths.append(CLIENT)
        body = """
    from stoker import emulated
    emulated.monotonic_ns = lambda: now[0]
    device = emulated.Device(spin=False)
    torch.cuda.launch = lambda seconds: device.launch(seconds)
    for batch in DataLoader(data, 1, collate_fn=load):
        device.copy(1000, pinned=True)
        device.copy(10**7)
        model(batch).backward(); optimizer.step()
        device.item()
    device.synchronize()
        """
        parts, rest, told = self.parts(body)
        self.assertEqual((told["clock"], told["launches"], told["copies"], told["bytes"], told["pageable"]), ("emulated", 4, 2, 10**7 + 1000, 10**7))
        self.assertEqual((told["syncs"], told["waited"] / MS), (1, 7))
        self.assertEqual(parts["forward"], 2)
        self.assertEqual(parts["copy"], 1)

    def test_functions_are_torch_s_own_between_samples(self):
        body = """
    import torch.nn.modules.module as m
    item = torch.Tensor.item
    inside.EVERY_NS = 10**12
    table, seen = {torch.Tensor.item: "mine"}, []
    for n, batch in enumerate(DataLoader(data, 1, collate_fn=load)):
        seen.append((m.Module.__call__.__code__ is code, torch.Tensor.item is item, torch.Tensor.item == item, table.get(torch.Tensor.item)))
        model(batch).backward(); optimizer.step()
    assert [n for n, s in enumerate(seen) if s != (True, True, True, "mine")] == [3], seen
    assert seen[3] == (False, False, True, "mine"), seen[3]
        """
        self.assertEqual([told["n"] for told in self.insides(body)], [3])

    def test_a_forked_child_is_left_alone(self):
        body = """
    import os
    import torch.nn.modules.module as m
    for n, batch in enumerate(DataLoader(data, 1, collate_fn=load)):
        if n == 5:
            child = os.fork()
            if child == 0:
                assert m.Module.__call__.__code__ is code
                torch.cuda.initialized = False
                model(batch)
                os._exit(bool(torch.cuda.violations))
            assert os.waitpid(child, 0)[1] == 0
        model(batch).backward(); optimizer.step()
        """
        self.insides(body)

    def test_where_the_device_has_no_clock_nothing_is_told(self):
        """Of a capture, a side stream, a thread of its own."""
        for work in (
            "graph.capture_begin(); graph.capture_end()",
            "torch.cuda.stream = torch.cuda.Stream(n)",
            "thread = threading.Thread(target=optimizer.step); thread.start(); thread.join()",
        ):
            body = """
    import threading
    graph = torch.cuda.graphs.CUDAGraph()
    for n, batch in enumerate(DataLoader(data, 1, collate_fn=load)):
        model(batch).backward()
        WORK
            """.replace("WORK", work)
            if "capture" in work:
                body = body.replace("model(batch).backward()\n", "graph.capture_begin(); model(batch).backward(); graph.capture_end()\n")
            self.insides(body)

    def test_an_error_of_ours_costs_nothing(self):
        for name in ("turn", "mark", "close", "open", "report", "boundary", "turn_back", "has_passed", "here"):
            body = """
    import torch.nn.modules.module as m
    item = torch.Tensor.item
    real, calls = inside.Inside.NAME, []
    def broken(*args):
        calls.append(1)
        if len(calls) > 2: raise ArithmeticError("NAME")
        return real(*args)
    inside.Inside.NAME = broken
    for batch in DataLoader(data, 1, collate_fn=load):
        model(batch.to("cuda")).backward(); optimizer.step()
        torch.cuda.synchronize()
    assert m.Module.__call__.__code__ is code and torch.Tensor.item is item
            """.replace("NAME", name)
            result = self.silent(self.run_program(LOOP + body))
            self.assertIn("ArithmeticError: " + name, result.of("warn")[0]["text"], name)


class Loop(InsideCase):
    """Steps of a loop that no loader feeds."""

    def steps(self, body, ends=""):
        """(n, ms, "train", "pass", "save") of each step of the loop's own."""
        result = self.silent(self.run_program(LOOP + body + ends))
        self.assertEqual(result.of("warn"), [])
        kinds = {True: "train", False: "pass"}
        own = [s for s in result.of("step") if s["loader"] == -1]
        self.assertEqual([s["n"] for s in own], list(range(len(own))))
        return [("save" if s.get("saved") else kinds[s["grad"]], round(s["p"] / MS)) for s in own], result

    def test_from_one_optimizer_step_to_the_next(self):
        steps, result = self.steps("""
    second = torch.optim.optimizer.Optimizer()
    for n in range(6):
        time.sleep(0.01)
        for micro in range(3): model(data[n]).backward()
        optimizer.step(); second.step()
        """)
        self.assertEqual(steps, [("train", 0)] * 3 + [("train", 10)] * 5)  # until an optimizer steps, passes are all that is known
        self.assertEqual([s["o"] for s in result.of("step")], [0, 0, 1] + [2] * 5)

    def test_evaluation_and_checkpoints_are_told(self):
        steps, _ = self.steps("""
    teacher = Model().eval()
    for n in range(7):
        teacher.eval(); model.train()
        model(data[n]).backward()
        time.sleep(0.01)
        if n == 2:
            model.eval()
            for _ in range(9): time.sleep(0.03); model(data[0])
            model.train(mode=True)
        if n == 3:
            torch.save(0.3, "f"); torch.save(0.001, "rng")
        if n == 4:
            model.eval()
            for batch in DataLoader(data, 7, collate_fn=load): model(batch)
            model.train()
        if n == 5:
            model.eval()
            for batch in DataLoader(data, 7, collate_fn=load): model(batch)
            time.sleep(0.05)
            model.train()
        optimizer.step()
        """)
        own = [("train", 10), ("pass", 270), ("train", 280), ("save", 300), ("train", 311), ("pass", 50), ("train", 10)]
        self.assertEqual(steps[1:], own)

    def test_from_one_pass_to_the_next(self):
        steps, result = self.steps("""
    torch.is_grad_enabled = lambda: False
    import threading
    for n in range(6):
        time.sleep(0.01 * n)
        if n == 3:
            thread = threading.Thread(target=model, args=data[:1])
            thread.start(); thread.join()
        else: model(data[n])
        """)
        self.assertEqual(steps, [("pass", 10 * n) for n in range(1, 6)])

    def test_a_loss_is_no_step(self):
        """Weights that are updated by hand, and a loss that is a module: with parameters none, or with its own."""
        for kept in ("{}", "{'weight': 3}"):
            steps, _ = self.steps("""
    loss = Model()
    model._parameters, model._modules = {'w': torch.nn.Parameter(3)}, {}
    loss._parameters, loss._buffers, loss._modules = {'w': None}, %s, {}
    for n in range(6):
        model(data[n]); time.sleep(0.01)
        loss(data[n]); time.sleep(0.02)
            """ % kept)
            self.assertEqual(steps, [("train", 30)] * 5)

    def test_a_model_that_only_infers_tells_where_it_lies(self):
        found = "\n    model._parameters, model._modules = {'none': None}, {'layer': model.layers[0]}; model.layers[0]._parameters = {'w': torch.nn.Parameter(3)}"
        for loop in ("for n in range(9): time.sleep(0.3); model(data[n])", "for batch in DataLoader(data, 1, collate_fn=load): model(batch)"):
            _, result = self.steps(found + "\n    " + loop)
            self.assertEqual({(told["dtype"], told["steps"]) for told in result.of("optim")}, {("float32", 0)})

    def test_a_loader_that_is_asked_past_its_iter_is_one(self):
        """As fastai asks: its loss is a module as well, and its optimizer none of torch's."""
        self.write(self.fake, "fastai", {"__init__.py": "", "optimizer.py": """
            class Optimizer:
                def __init__(self, *params): self.param_lists = params
                def step(self): return "stepped"
        """})
        steps, result = self.steps("""
    from fastai.optimizer import Optimizer
    from torch.utils.data.dataloader import _SingleProcessDataLoaderIter
    optimizer, loss = Optimizer([torch.optim.optimizer.Parameter()]), Model()
    for batch in _SingleProcessDataLoaderIter(DataLoader(data, 1, collate_fn=load)):
        loss(model(batch)).backward()
        assert optimizer.step() == "stepped"
        """)
        self.assertEqual(steps, [])
        self.assertEqual(result.of("optim")[0]["device"], "cuda:0")
        self.assertEqual([s["o"] for s in result.of("step")][:3], [1, 1, 1])
        self.assertTrue(result.of("inside"))

    def test_where_a_loader_is_asked_its_steps_are_the_loop_s(self):
        for loop in ("for batch in DataLoader(data, 1): model(batch[0]).backward(); optimizer.step()", "for batch in DataLoader(data, 1): model(batch[0])"):
            self.assertEqual(self.steps("\n    " + loop)[0], [])

    def test_transforms_in_a_worker_are_no_loop(self):
        source = "\n    import torch.utils.data._utils.worker as w\n    w._worker_info = type('i', (), {'id': 0})\n    for n in range(5): model(data[n])"
        self.assertEqual(self.steps(source)[0], [])

    def test_transforms_of_samples_are_no_loop(self):
        steps, _ = self.steps("\n    own.TRIED = 10\n    for n in range(99): time.sleep(0.001 + 0.01 * (n > 20)); model(data[0])")
        self.assertEqual(len(steps), 10)

    def test_another_loop_ends_no_step(self):
        """A loader's loop is left in the midst of a step, and one without a loader follows."""
        result = self.silent(self.run_program(LOOP + """
    for n, batch in enumerate(DataLoader(data, 1, collate_fn=load)):
        model(batch).backward(); optimizer.step()
        if n == 6: break
    for n in range(9):
        time.sleep(0.5); model(data[n]).backward(); optimizer.step()
        """))
        self.assertEqual({told["loader"] for told in result.of("inside")}, {0, -1})
        self.assertLess(max(told["span"] for told in result.of("inside") if told["loader"] == 0), 100 * MS)

    def test_own_steps_are_looked_into(self):
        parts, rest, told = self.parts("""
    for n in range(12):
        time.sleep(0.01)
        batch = data[n].to("cuda")
        model(batch).backward(); optimizer.step()
        torch.cuda.synchronize()
        """)
        self.assertEqual((parts, rest, told["loader"]), ({"copy": 3, "forward": 2, "backward": 4, "optimizer": 1}, 10, -1))

    def test_passes_of_threads_in_turn_are_looked_into(self):
        """As of a server whose requests are answered in a pool of threads."""
        self.paths.append(CLIENT)
        result = self.silent(self.run_program(LOOP + """
    import threading
    from stoker import emulated
    emulated.monotonic_ns = lambda: now[0]
    device = emulated.Device(spin=False)
    torch.cuda.launch = lambda seconds: device.launch(seconds)
    turns = [threading.Event() for _ in range(3)]
    def serve(me):
        for _ in range(6):
            turns[me].wait(); turns[me].clear()
            time.sleep(0.5)
            device.copy(10**6)
            model(data[0]); device.item()
            turns[(me + 1) % 3].set()
    threads = [threading.Thread(target=serve, args=(n,)) for n in range(3)]
    for thread in threads: thread.start()
    turns[0].set()
    for thread in threads: thread.join()
        """))
        told = result.of("inside")
        self.assertGreater(len({one["n"] % 3 for one in told}), 1)
        self.assertEqual({(one["clock"], one["loader"], one["launches"]) for one in told}, {("emulated", -1, 2)})
        self.assertEqual({round(one["forward"] / MS) for one in told}, {2})

    def test_all_is_torch_s_own_when_the_hook_steps_aside(self):
        self.steps("""
    hook, module = sys.modules["_stoker_hook"], torch.nn.module.Module
    codes = module.__call__.__code__, module.train.__code__
    hook.part("guard").step_aside()
    assert module.__call__.__code__ is not codes[0] and module.train.__code__ is not codes[1]
    assert module.__call__.__code__.co_varnames[:1] == module.train.__code__.co_varnames[:1] == ("self",)
    assert "save_in" not in repr(torch.serialization.save)
        """)


RESULTS = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
torch.set_num_threads(1)
if "_stoker_hook" in sys.modules:
    inside = sys.modules["_stoker_hook"].now.parts["inside"]
    inside.EVERY_NS = inside.SHARE = 0
data = TensorDataset(torch.randn(120, 16))

class Net(torch.nn.Module):
    def __init__(self, again=False):
        super().__init__()
        self.a, self.b, self.again = torch.nn.Linear(16, 16), torch.nn.Linear(16, 1), again
    def forward(self, x):
        x = checkpoint(self.a, x, use_reentrant=False) if self.again else self.a(x)
        return self.b(torch.relu(x) + torch.rand(1))

def show(name, *numbers):
    print(name, [float(n).hex() for n in numbers], torch.rand(1).item().hex())

def plain(model):
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for (x,) in DataLoader(data, 8, shuffle=True):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        losses.append(loss.item())
    return losses

show("plain", *plain(Net()))
show("checkpointed", *plain(Net(True)))

model = Net()
optimizer, losses = torch.optim.LBFGS(model.parameters(), max_iter=3), []
for (x,) in DataLoader(data, 30):
    def closure():
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss
    losses.append(optimizer.step(closure))
show("lbfgs", *losses)

maker, judge = torch.nn.Linear(4, 16), Net()
one, two = torch.optim.SGD(maker.parameters(), 0.1), torch.optim.SGD(judge.parameters(), 0.1)
losses = []
for (x,) in DataLoader(data, 8):
    made = maker(torch.randn(8, 4))
    loss = judge(x).mean() - judge(made.detach()).mean()
    two.zero_grad(); loss.backward(); two.step()
    (slope,) = torch.autograd.grad(judge(made).sum(), made, create_graph=True)
    loss = judge(made).mean() + slope.pow(2).mean()
    one.zero_grad(); loss.backward(); one.step()
    losses.append(loss)
show("gan", *losses)

model = Net()
averaged, optimizer = torch.optim.swa_utils.AveragedModel(model), torch.optim.SGD(model.parameters(), 0.1)
for n, (x,) in enumerate(DataLoader(data, 4)):
    model(x).mean().backward()
    if n % 4 == 3:
        optimizer.step(); optimizer.zero_grad(); averaged.update_parameters(model)
        with torch.no_grad(): last = averaged(x).mean()
show("accumulated", last)

model = Net()
def both(x):
    return model(x).pow(2).mean()
compiled, whole = torch.compile(both, backend="eager", fullgraph=True), torch.compile(Net(), backend="eager", fullgraph=True)
optimizer = torch.optim.SGD(list(model.parameters()) + list(whole.parameters()), 0.1)
losses = []
for size in (8, 7):
    for (x,) in DataLoader(data, size):
        loss = compiled(x) + whole(x).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        losses.append(loss)
show("compiled", *losses)
from torch._dynamo.utils import counters
print(dict(counters["stats"]))
try:
    for (x,) in DataLoader(data, 4):
        optimizer.step()
        if torch.rand(1) > 0.6: model(x[:, :3])
except RuntimeError as error:
    print(str(error)[:30], torch.nn.Module.__call__.__code__.co_name)
"""


# What Dynamo traces, and guards, must be torch's own: also a mode's change, a model with hooks, whatever runs before the first step.
COMPILED = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
if "_stoker_hook" in sys.modules:
    inside = sys.modules["_stoker_hook"].now.parts["inside"]
    inside.EVERY_NS = inside.SHARE = inside.FIRST_STEPS = 0
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model, self.last = model, torch.nn.Linear(4, 1)
        self.last.register_forward_hook(lambda *_: None)
    def forward(self, x): return self.last(self.model(x))
def mode(on):
    def work(x):
        model.train(on)
        return model(x).sum()
    return work
x = torch.ones(1, 4)
for early in (True, False):
    with torch.no_grad():
        for _ in range(3): model(x)
    for make in (mode(False), mode(True), Hooked(), lambda x: model(x).sum()):
        compiled = torch.compile(make, backend="eager", fullgraph=True)
        for n in range(6):
            loss = compiled(x if n < 4 else torch.ones(n, 4)).sum()
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            print(loss.item().hex())
            model.train(); model.eval(); model(x)
        torch.compiler.reset()
    from torch._dynamo.utils import counters
    print(dict(counters["stats"]), dict(counters["frames"]))
"""


@unittest.skipUnless(test_hook_torch.TORCH, "PyTorch is not installed in this Python")
class Results(HookCase):
    """With every step sampled, each number is the same bit for bit."""

    both = test_hook_torch.Torch.both

    def test_what_is_compiled(self):
        self.both(COMPILED)

    def test_same_numbers(self):
        result = self.both(RESULTS)
        self.assertEqual({told["clock"] for told in result.of("inside")}, {"host"})
        self.assertGreater(len(result.of("inside")), 40)
        self.assertEqual(result.of("warn"), [])
        self.assertEqual([told for told in result.of("inside") if not told["forward"]], [])  # compiled or not


if __name__ == "__main__":
    unittest.main()
