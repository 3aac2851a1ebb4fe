"""Plain loops that lose their time in different rows. Each takes the times itself.

The device gets its work first, which hides the host's work of the step. From the arrival of a result to the next
launch the host works and the device idles, except while it waits for a batch: between-steps.

python bench/ledger/plain.py evaluation
"""

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Callable

import clock
import torch
from torch.utils.data import DataLoader, Dataset

from stoker.emulated import Device


class Rows(Dataset):
    """Samples that sleep."""

    def __init__(self, rows: int, seconds: float = 0.001) -> None:
        self.rows, self.seconds = rows, seconds

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.zeros(64)


model = torch.nn.Linear(64, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
device, until = Device(), 0.0


def make_loader(batches: int, workers: int = 2, keep: bool = True, seconds: float = 0.001) -> DataLoader:
    return DataLoader(Rows(8 * batches, seconds), 8, num_workers=workers, persistent_workers=keep and workers > 0)


def train_epoch(loader: DataLoader, seconds: float = 0.02, after: Callable[[int], object] = lambda step: None) -> None:
    model.train()
    for step, batch in enumerate(clock.asks(loader)):
        clock.begin("between-steps")
        device.copy(batch.nbytes)
        device.launch(seconds, "step")
        clock.begin("training")
        model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        device.item()
        clock.begin("between-steps")
        after(step)
        if not clock.goes_on():
            break
        clock.begin("training")
    clock.begin("epoch-edge")


def train(loader: DataLoader, between: Callable[[], object] = lambda: None, **settings) -> None:
    while clock.goes_on():
        train_epoch(loader, **settings)
        between()


def evaluate(loader: DataLoader) -> None:
    with clock.within("evaluation"):
        model.eval()
        with torch.no_grad():
            for batch in loader:
                device.launch(0.01, "forward")
                model(batch)
                device.item()


WEIGHTS = {"weights": torch.zeros(6_000_000)}


def save() -> None:
    with tempfile.NamedTemporaryFile() as file, clock.within("checkpoint"):
        torch.save(WEIGHTS, file.name)


def steady() -> None:
    train(make_loader(10**5))


def by_itself() -> None:
    train(make_loader(10**5, 0))


def train_starved() -> None:
    train(make_loader(10**5, 1, seconds=0.01))


def evaluation() -> None:
    held_out = make_loader(60, 0)
    train(make_loader(60), lambda: evaluate(held_out))


def validation() -> None:
    held_out = make_loader(100, 2)
    train(make_loader(100), lambda: evaluate(held_out))


def checkpoint() -> None:
    train(make_loader(10**5), after=lambda step: step % 20 == 19 and save())


def epochs() -> None:
    held_out = make_loader(40, 1)
    train(make_loader(80), lambda: (evaluate(held_out), save()))


def uploads() -> None:
    def upload(step: int) -> None:
        if step % 10 == 9:
            with clock.within("between-steps"):
                time.sleep(0.2)

    train(make_loader(10**5), after=upload)


def logging() -> None:
    def log(step: int) -> None:
        with clock.within("between-steps"):
            time.sleep(0.02)

    train(make_loader(10**5), after=log)


def garbage() -> None:
    kept = [{"path": f"{i}.png", "boxes": [(i, i)]} for i in range(60_000)]

    def collect(step: int) -> None:
        with clock.within("between-steps"):
            gc.collect()

    train(make_loader(10**5), after=collect)
    del kept


def edges() -> None:
    train(make_loader(20, 2, keep=False))


def sampler() -> None:
    class Slow(torch.utils.data.Sampler):
        def __init__(self) -> None:
            pass

        def __iter__(self):
            time.sleep(1)
            return iter(range(400))

        def __len__(self) -> int:
            return 400

    train(DataLoader(Rows(400), 8, sampler=Slow(), num_workers=2, persistent_workers=True))


def start() -> None:
    time.sleep(5)
    train(make_loader(10**5))


def tail() -> None:
    train(make_loader(10**5))
    clock.begin("tail")
    time.sleep(5)


def skipping() -> None:
    """Four seconds of batches are thrown away before the first step."""
    for n, batch in enumerate(make_loader(10**5, 2, seconds=0.002)):
        if n < 300:
            clock.begin("skipping")
            continue
        clock.begin("between-steps")
        device.copy(batch.nbytes)
        device.launch(0.02, "step")
        clock.begin("training")
        model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        device.item()
        if not clock.goes_on():
            break


def inference() -> None:
    model.eval()
    with torch.inference_mode():
        for batch in make_loader(10**5):
            clock.begin("between-steps")
            device.launch(0.02, "forward")
            clock.begin("inference")
            model(batch)
            device.item()
            if not clock.goes_on():
                break


def ranks() -> None:
    """Two ranks by torchrun."""
    join()
    train(make_loader(10**5, 1), after=exchange)


def late_rank() -> None:
    join()

    def step(n: int) -> None:
        if os.environ["RANK"] == "1":
            time.sleep(0.03)
        exchange(n)

    train(make_loader(10**5, 1), after=step)


def ranks_evaluate() -> None:
    join()
    held_out = make_loader(40, 0)
    train(make_loader(60, 1), lambda: evaluate(held_out), after=exchange)


def join() -> None:
    """The loop ends for both when rank 0 says so, in exchange."""
    global device, until
    until, clock.UNTIL = time.time() + float(os.environ["SECONDS_EACH"]), float("inf")
    torch.distributed.init_process_group("gloo")
    device = Device(torch.distributed.get_rank())


def exchange(step: int) -> None:
    """Gradients, and whether both go on: else one would wait for the other at the end."""
    with clock.within("ranks"):
        torch.distributed.all_reduce(torch.zeros(1000))
        done = torch.tensor([0.0 if time.time() < until else 1.0])
        torch.distributed.broadcast(done, 0)
        if done.item():
            clock.UNTIL = 0


KINDS = {
    "steady": steady, "by-itself": by_itself, "starved": train_starved, "evaluation": evaluation, "validation": validation,
    "checkpoint": checkpoint, "epochs": epochs, "uploads": uploads, "logging": logging, "garbage": garbage, "edges": edges,
    "sampler": sampler, "start": start, "tail": tail, "skipping": skipping, "inference": inference, "ranks": ranks,
    "late-rank": late_rank, "ranks-evaluate": ranks_evaluate,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    KINDS[parser.parse_args().kind]()
    clock.begin("tail")
    clock.write()
