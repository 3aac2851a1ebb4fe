"""What the start-up hook costs per step: µs with and without it, in turn, in one process.

    PYTHONPATH=python python/.venv/bin/python bench/hook_cost.py [blocks [case…]]

A block is 500 steps of the smallest training loop that is one: a batch, a launch on the emulated device (or none), an
optimizer step. Blocks with the hook's functions in place and with torch's own alternate, so that drift of the machine
falls on both. The difference is per pair of neighbours; printed are medians and the quartiles of the difference.
"model" is a model of 32 modules, forward and backward (40 steps a block); "passes" the same model in inference, fed by no loader.
The "-5ms" cases do about 5 ms of other work in each step (40 steps a block), which drives the hook's code and data out of
the caches: that is what a real step pays, the hot loop is what the code costs.
Counted is the core time of the looping thread, so that a busy machine changes it little ("start": wall time).
The reader of the socket is another process, as in `stoker observe`.
"""

import glob
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOOK = os.path.join(HERE, "..", "python", "hook")
STEPS = 500  # per block, some 30 ms: short against the drift of the machine
WORKING_STEPS = 40  # of 5 ms


def main(blocks, *cases):
    print("case                      without     with    cost [quartiles]   n      (µs per step, medians)")
    for case in cases or ("start", "no-device", "emulated", "workers", "model", "passes", "no-device-5ms", "emulated-5ms"):
        with tempfile.TemporaryDirectory() as folder:
            for part in glob.glob(os.path.join(HOOK, "*.py")):
                shutil.copy(part, folder)
            server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            server.bind(folder + "/socket")
            server.listen(64)
            if case == "start":
                start_cost(folder, blocks)
                continue
            paths = [folder, os.path.join(HERE, "..", "python")]
            env = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), STOKER_HOOK_DIR=folder, STOKER_HOOK_SOCKET=folder + "/socket")
            child = subprocess.Popen([sys.executable, __file__, "--inside", case, str(blocks)], env=env)
            read_until_exit(server, child)
            server.close()


def start_cost(folder, blocks):
    """The start of an interpreter that never imports torch, with and without the hook."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    hooked = dict(plain, PYTHONPATH=folder, STOKER_HOOK_DIR=folder, STOKER_HOOK_SOCKET=folder + "/socket")
    times = {False: [], True: []}
    for _ in range(blocks + 2):
        for on in (False, True):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], env=hooked if on else plain, check=True)
            times[on].append((time.perf_counter() - started) * 1e6)
    report("interpreter start", times[False][2:], times[True][2:])


def read_until_exit(server, child):
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
    child.wait()


def inside(case, blocks):
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    hook = sys.modules["_stoker_hook"]
    torch.set_num_threads(1)
    device = None
    if case.startswith("emulated"):
        from stoker.emulated import Device

        device = Device(spin=False)
    work = working(torch) if case.endswith("5ms") else None
    if case in ("model", "passes"):
        work = passing(torch, case == "model")
    data = TensorDataset(torch.zeros((WORKING_STEPS if work else STEPS) * 4, 8))
    parameter = torch.nn.Parameter(torch.zeros(8))
    parameter.grad = torch.zeros(8)
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    workers = {"num_workers": 1, "persistent_workers": True} if case == "workers" else {}
    loaders = {on: DataLoader(data, 4, **workers) for on in (False, True)}
    times = {False: [], True: []}
    for block in range(blocks + 2):
        for on in (block % 2 == 0, block % 2 == 1):
            switch(torch, hook, on)
            times[on].append(one_block(loaders[on] if case != "passes" else range(WORKING_STEPS), device, optimizer if case != "passes" else None, work))
    report(case, times[False][2:], times[True][2:])


def switch(torch, hook, on):
    for owner, name, original, ours in hook.now.patches:
        setattr(owner, name, ours if on else original)
    optimizers, device = sys.modules["torch.optim.optimizer"], hook.part("device")
    for hooks, ours in ((optimizers._global_optimizer_pre_hooks, device.before_optimizer_step), (optimizers._global_optimizer_post_hooks, device.after_optimizer_step)):
        hooks.clear()
        if on:
            hooks[0] = ours
    if not on:
        hook.now.state.inside.drop()
    for swap in hook.now.parts["lend"].kept:
        swap.put() if on else swap.take()


def working(torch):
    """About 5 ms of work that is the same each time and touches more memory than a core's caches hold."""
    from collections import OrderedDict

    numbers, text = torch.zeros(1 << 20), list(range(20000))

    def work():
        for _ in range(4):
            numbers.add_(1)
            OrderedDict((n, str(n)) for n in text[:5000])

    started = time.perf_counter()
    for _ in range(20):
        work()
    each = (time.perf_counter() - started) / 20
    times = max(1, round(5e-3 / each))
    return lambda: [work() for _ in range(times)]


def passing(torch, trains):
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.LayerNorm(256)) for _ in range(8)])
    data = torch.randn(16, 256)

    def work():
        with torch.set_grad_enabled(trains):
            found = model(data).sum()
        if trains:
            found.backward()

    return work


def one_block(loader, device, optimizer, work):
    iterator = iter(loader)
    next(iterator)
    started = time.thread_time()
    steps = 0
    for _ in iterator:
        if device is not None:
            device.launch(1e-6)
        if work is not None:
            work()
        if optimizer is not None:
            optimizer.step()
        steps += 1
    return (time.thread_time() - started) / steps * 1e6


def report(case, without, with_hook):
    costs = [b - a for a, b in zip(without, with_hook)]
    low, _, high = statistics.quantiles(costs, n=4)
    medians = statistics.median(without), statistics.median(with_hook), statistics.median(costs)
    print(f"{case:22} {medians[0]:10.1f} {medians[1]:8.1f} {medians[2]:7.1f} [{low:.1f} to {high:.1f}] {len(costs):5}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], int(sys.argv[3]))
    else:
        main(int((sys.argv[1:] or ["40"])[0]), *sys.argv[2:])
