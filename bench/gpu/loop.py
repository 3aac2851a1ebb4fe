#!/usr/bin/env python3
"""Training loops on a real GPU whose bottleneck interventions tell: what a step takes without its input, its copies, its host.

    python loop.py few-workers --seconds 12          # the loop, to be observed
    python loop.py truth --truth FILE                # every situation unobserved, relieved of one thing after the other
    python loop.py digest --workers 4                # what each of the first batches holds, and how fast they come
    python loop.py cost --only launches --turns 40   # milliseconds of a step, alone and under `stoker observe`, in turn

situations.sh runs them on a machine that has one.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, models, transforms

CUDA = torch.device("cuda")
JPEGS = Path("stoker-runs/gpu-jpegs")
WARM_UP_S = 2.0
WARM_UP_TURNS = 4


@dataclass
class Loop:
    """A loader, the copy of a batch to the device, and a step on it."""

    batches: Iterable
    send: Callable
    step: Callable
    images: int


class Same(Dataset):
    """The same sample again and again: input that costs nothing."""

    def __init__(self, sample, length: int = 1_000_000) -> None:
        self.sample, self.length = sample, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int):
        return self.sample


def jpegs(workers: int, batch: int, loader=DataLoader, pin: bool = True, **more) -> Iterable:
    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    return loader(datasets.ImageFolder(JPEGS, transform), batch, shuffle=True, drop_last=True, num_workers=workers, pin_memory=pin, **more)


def trainer(model: nn.Module, bf16: bool = True, item: bool = False) -> Callable:
    model = model.to(CUDA, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def step(batch) -> None:
        images, labels = batch
        with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
            loss = nn.functional.cross_entropy(model(images.contiguous(memory_format=torch.channels_last)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if item:
            loss.item()

    return step


def send_all(batch):
    return [part.to(CUDA, non_blocking=True) for part in batch]


def vision(workers: int, batch: int = 64, model: Callable = models.resnet50, **more) -> Loop:
    return Loop(jpegs(workers, batch), send_all, trainer(model(num_classes=10), **more), batch)


def ready(batch: int = 64) -> Loop:
    """Samples that need no work, collated by two workers."""
    loader = DataLoader(Same((torch.randn(3, 224, 224), 3)), batch, num_workers=2, pin_memory=True)
    return Loop(loader, send_all, trainer(models.resnet50(num_classes=10)), batch)


def large(pinned: bool, by_loader: bool = False) -> Loop:
    """154 MB of input to a step, which the device needs little time for."""
    tensor = torch.randn(64, 3, 448, 448)
    if pinned:
        tensor = tensor.pin_memory()
    net = nn.Conv2d(3, 64, 16, stride=16).to(CUDA)

    def step(batch) -> None:
        net(batch).mean().backward()

    loader = DataLoader(Same(tensor), None, pin_memory=by_loader)
    return Loop(loader, lambda batch: batch.to(CUDA, non_blocking=by_loader), step, 64)


def own_copies() -> Loop:
    """The loop itself copies 64 tensors of 1 MB in each step."""
    pieces = [torch.randn(512, 512) for _ in range(64)]
    weight = torch.randn(512, 512, device=CUDA, requires_grad=True)

    def step(batch) -> None:
        (torch.cat([piece.to(CUDA) for piece in pieces]) @ weight).mean().backward()

    return Loop(DataLoader(Same(torch.zeros(8)), None), lambda batch: batch.to(CUDA), step, 64)


def small_layers(reads: bool) -> Loop:
    """Two hundred layers that the device is done with before the host has launched them."""
    width, batch = (2048, 256) if reads else (64, 8)
    net = nn.ModuleList(nn.Linear(width, width) for _ in range(40 if reads else 200)).to(CUDA)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-6, foreach=False)

    def step(batch) -> None:
        for layer in net:
            batch = torch.relu(layer(batch))
            if reads and batch.mean().item() < 0:
                raise ValueError("below zero after relu")
        optimizer.zero_grad()
        batch.mean().backward()
        optimizer.step()

    return Loop(DataLoader(Same(torch.randn(batch, width)), None), lambda batch: batch.to(CUDA), step, batch)


def graph(workers: int) -> Loop:
    """ResNet-18 whose step is one CUDA graph."""
    batch, step = 64, trainer(models.resnet18(num_classes=10), bf16=False)
    static = [torch.randn(batch, 3, 224, 224, device=CUDA), torch.zeros(batch, dtype=torch.long, device=CUDA)]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(static)
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step(static)

    def replay(parts) -> None:
        for to, part in zip(static, parts):
            to.copy_(part, non_blocking=True)
        captured.replay()

    return Loop(jpegs(workers, batch), send_all, replay, batch)


def gpt2() -> Loop:
    """nanoGPT's way: get_batch from a memory map, no loader."""
    import numpy as np
    from transformers import GPT2Config, GPT2LMHeadModel

    tokens = np.random.default_rng(0).integers(0, 50257, 1_000_000).astype(np.uint16)
    model = GPT2LMHeadModel(GPT2Config(attn_pdrop=0, resid_pdrop=0, embd_pdrop=0)).to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def batches() -> Iterator[torch.Tensor]:
        chance = np.random.default_rng(1)
        while True:
            starts = chance.integers(0, len(tokens) - 1024, 8)
            yield torch.from_numpy(np.stack([tokens[start : start + 1024].astype(np.int64) for start in starts])).pin_memory()

    def step(batch) -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return Loop(batches(), lambda batch: batch.to(CUDA, non_blocking=True), step, 8)


def inference() -> Loop:
    model = models.resnet50(num_classes=10).eval().to(CUDA)

    @torch.inference_mode()
    def step(batch) -> None:
        model(batch[0]).argmax(1).cpu()

    return Loop(jpegs(2, 64), send_all, step, 64)


def augment_on_device(device: bool, batch: int = 64) -> Loop:
    """What torchvision's v2 can do on a batch, in the workers or on the device."""
    from torchvision.transforms import v2

    heavy = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.ColorJitter(0.4, 0.4, 0.4),
                        v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    first = [v2.ToImage(), v2.Resize((256, 256), antialias=True)]
    data = datasets.ImageFolder(JPEGS, v2.Compose(first if device else [*first, heavy]))
    train = trainer(models.resnet50(num_classes=10))
    step = (lambda parts: train([heavy(parts[0]), parts[1]])) if device else train
    return Loop(DataLoader(data, batch, shuffle=True, drop_last=True, num_workers=3, pin_memory=True), send_all, step, batch)


#: Each with the classes that its interventions may find, to tell kinds of input apart.
SITUATIONS: dict[str, tuple[str, Callable[[], Loop]]] = {
    "few-workers": ("cpu-bound/too-few-workers", lambda: vision(1)),
    "few-workers-4": ("cpu-bound/too-few-workers", lambda: vision(4)),
    "main-thread": ("cpu-bound/main-thread-loader", lambda: vision(0)),
    "main-thread-item": ("cpu-bound/main-thread-loader", lambda: vision(0, item=True)),
    "main-thread-item-4": ("cpu-bound/too-few-workers", lambda: vision(4, item=True)),
    "all-cores": ("cpu-bound/cpu-exhausted", lambda: vision(6)),
    "ready": ("gpu-bound", ready),
    "vit-fp32": ("gpu-bound", lambda: vision(4, 32, models.vit_l_16, bf16=False)),
    "pageable": ("transfer-bound", lambda: large(pinned=False)),
    "pinned-blocking": ("transfer-bound", lambda: large(pinned=True)),
    "pinned-by-loader": ("transfer-bound", lambda: large(pinned=False, by_loader=True)),
    "own-copies": ("transfer-bound", own_copies),
    "launches": ("launch-bound", lambda: small_layers(reads=False)),
    "reads": ("launch-bound", lambda: small_layers(reads=True)),
    "graph": ("cpu-bound/too-few-workers", lambda: graph(1)),
    "gpt2": ("gpu-bound", gpt2),
    "inference": ("cpu-bound/too-few-workers", inference),
    "augment-in-workers": ("cpu-bound", lambda: augment_on_device(False)),
    "augment-on-device": ("cpu-bound", lambda: augment_on_device(True)),
}


def endless(batches: Iterable) -> Iterator:
    while True:
        yield from batches


def train(loop: Loop, seconds: float) -> float:
    """Seconds a step, without the first ones."""
    begun, steps, since = time.monotonic(), 0, 0.0
    for batch in endless(loop.batches):
        loop.step(loop.send(batch))
        now = time.monotonic()
        if since:
            steps += 1
        elif now - begun > min(WARM_UP_S, seconds / 3):
            torch.cuda.synchronize()
            since = time.monotonic()
        if now - begun > seconds:
            break
    torch.cuda.synchronize()
    return (time.monotonic() - since) / max(1, steps)


def take_turns(loop: Loop, seconds: float) -> None:
    """Train for so long at each line of stdin, and say the milliseconds of a step."""
    batches = endless(loop.batches)
    for _ in sys.stdin:
        torch.cuda.synchronize()
        begun, steps = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            loop.step(loop.send(next(batches)))
            steps += 1
        torch.cuda.synchronize()
        print((time.perf_counter() - begun) * 1e3 / steps, flush=True)


def cost(name: str, turns: int, seconds: float) -> str:
    """What observing costs: the same loop twice, alone and observed, of which one works at a time."""
    command = [sys.executable, __file__, name, "--turns", "1", "--seconds", str(seconds)]
    recording = os.path.join(os.environ["OUT"], f"cost-{name}.jsonl.gz")
    observed = [os.environ["STOKER_BIN"], "observe", "-q", "--no-trace", "-o", recording, "--", *command]
    both = [subprocess.Popen(way, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for way in (command, observed)]
    taken: list[tuple[float, float]] = []
    for turn in range(turns + WARM_UP_TURNS):
        pair = [0.0, 0.0]
        for at in (0, 1) if turn % 2 else (1, 0):
            print(file=both[at].stdin, flush=True)
            pair[at] = float(both[at].stdout.readline())
        taken.append((pair[0], pair[1]))
    for process in both:
        process.stdin.close()
        process.wait()
    alone, under = zip(*taken[WARM_UP_TURNS:])
    low, middle, high = statistics.quantiles([b / a for a, b in zip(alone, under)], n=4)
    return (f"{name}: {statistics.median(alone):.2f} ms a step alone, {statistics.median(under):.2f} observed, "
            f"{middle:.4f} of it ({low:.4f} to {high:.4f}: quartiles of {turns} pairs)")


def framework(name: str, seconds: float) -> None:
    """The same input through Lightning's or Accelerate's loop."""
    model = models.resnet50(num_classes=10)
    if name == "lightning":
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def training_step(self, batch, index):
                return nn.functional.cross_entropy(self.model(batch[0]), batch[1])

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=1e-4)

        lightning.Trainer(max_time={"seconds": seconds}, precision="bf16-mixed", logger=False, enable_checkpointing=False,
                          enable_progress_bar=False, enable_model_summary=False).fit(Module(), jpegs(1, 64, persistent_workers=True))
        return
    if name == "transformers":
        transformers(seconds)
        return
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16")
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1e-4), jpegs(1, 64))
    until = time.monotonic() + seconds
    for images, labels in endless(loader):
        loss = nn.functional.cross_entropy(model(images), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if time.monotonic() > until:
            return


def transformers(seconds: float) -> None:
    """A Trainer of Hugging Face's, with one worker."""
    from transformers import Trainer, TrainerCallback, TrainingArguments, ViTConfig, ViTForImageClassification

    class EndInTime(TrainerCallback):
        until = time.monotonic() + seconds

        def on_step_end(self, args, state, control, **more) -> None:
            control.should_training_stop = time.monotonic() > self.until

    def collate(samples: list) -> dict:
        return {"pixel_values": torch.stack([image for image, _ in samples]), "labels": torch.tensor([label for _, label in samples])}

    settings = TrainingArguments("stoker-runs/trainer", per_device_train_batch_size=64, dataloader_num_workers=1, bf16=True, report_to=[],
                                 save_strategy="no", num_train_epochs=1000, remove_unused_columns=False)
    model = ViTForImageClassification(ViTConfig(num_labels=10))
    Trainer(model, settings, train_dataset=jpegs(0, 64).dataset, data_collator=collate, callbacks=[EndInTime()]).train()


# The truth.


def kernel_seconds(loop: Loop, resident: list, steps: int = 10) -> float:
    """What the device computes in a step, by PyTorch's profiler: the union of its kernels."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for n in range(steps):
            loop.step(resident[n % len(resident)])
        torch.cuda.synchronize()
    spans = sorted((event.time_range.start, event.time_range.end) for event in profiler.events()
                   if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith("Memcpy"))
    total, end = 0.0, 0.0
    for start, stop in spans:
        total, end = total + max(0.0, stop - max(start, end)), max(end, stop)
    return total / 1e6 / steps


def relieve(make: Callable[[], Loop]) -> dict[str, float]:
    """Seconds a step: as it is, without input, without copies of the batch, and what the device computes of it."""
    loop = make()
    out = {"whole": train(loop, 6.0)}
    kept = list(itertools.islice(iter(loop.batches), 3))
    out["without input"] = train(Loop(kept, loop.send, loop.step, loop.images), 2.0)
    resident = [loop.send(batch) for batch in kept]
    out["without copies"] = train(Loop(resident, lambda batch: batch, loop.step, loop.images), 2.0)
    out["kernels"] = kernel_seconds(loop, resident)
    return out | {"images": loop.images}


def make_jpegs(copies: int = 100) -> None:
    for source in Path("data/reference").glob("*/*.jpg"):
        folder = JPEGS / source.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        for n in range(copies):
            link = folder / f"{source.stem}-{n}.jpg"
            if not link.exists():
                link.symlink_to(source.resolve())


def digest(arguments: argparse.Namespace) -> dict:
    """The first batches, what each holds, and how many images a second the rest of them are."""
    torch.manual_seed(7)
    loader, more = DataLoader, {}
    if arguments.stoker:
        from stoker import DataLoader as loader  # noqa: N813
        more = {"device": "cuda"} if arguments.stoker == "cuda" else {}
    step = trainer(models.resnet50(num_classes=10))
    digests, seen, since = [], 0, 0.0
    for images, labels in endless(jpegs(arguments.workers, 64, loader, **more)):
        if len(digests) < 20:
            digests.append(zlib.crc32(images.cpu().numpy().tobytes()) ^ zlib.crc32(labels.cpu().numpy().tobytes()))
        elif not since:
            torch.cuda.synchronize()
            since = time.monotonic()
        else:
            seen += 64
        step(send_all((images, labels)))
        if since and time.monotonic() - since > arguments.seconds:
            break
    torch.cuda.synchronize()
    return {"digests": digests, "images_per_s": round(seen / (time.monotonic() - since), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*SITUATIONS, "lightning", "accelerate", "transformers", "truth", "digest", "cost"])
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--stoker", choices=("host", "cuda"), help="digest: with stoker.DataLoader, on the host or to the device")
    parser.add_argument("--truth", type=Path, help="write what was measured")
    parser.add_argument("--only", action="append", choices=list(SITUATIONS), help="truth, cost: this situation")
    parser.add_argument("--turns", type=int, help="cost: pairs of turns of SECONDS, default 30 (a situation: train at each line of stdin)")
    arguments = parser.parse_args()
    make_jpegs()
    torch.backends.cudnn.benchmark = True
    if arguments.what == "truth":
        for name in arguments.only or SITUATIONS:
            try:
                line = {"situation": name, "expected": SITUATIONS[name][0]} | relieve(SITUATIONS[name][1])
            except Exception as problem:  # one that fails must not cost the others their turn
                line = {"situation": name, "problem": repr(problem)}
            print(json.dumps(line), flush=True)
            if arguments.truth:
                with arguments.truth.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    elif arguments.what == "digest":
        found = digest(arguments)
        print(json.dumps(found))
    elif arguments.what == "cost":
        for name in arguments.only or ("launches", "reads", "gpt2"):
            print(cost(name, arguments.turns or 30, arguments.seconds), flush=True)
    elif arguments.what in SITUATIONS and arguments.turns:
        take_turns(SITUATIONS[arguments.what][1](), arguments.seconds)
    elif arguments.what in SITUATIONS:
        print(f"{train(SITUATIONS[arguments.what][1](), arguments.seconds) * 1e3:.2f} ms a step")
    else:
        framework(arguments.what, arguments.seconds)


if __name__ == "__main__":
    sys.exit(main())
