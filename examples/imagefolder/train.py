#!/usr/bin/env python3
"""Train ResNet-50 on a folder of images.

    python train.py --data data/imagefolder --workers 0

Trains on the first CUDA device where there is one. Elsewhere an emulated device takes
as long per batch as an accelerator and computes nothing. Loading is real in both cases.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
#: MLPerf Storage's ResNet-50 on an A100: a batch of 400 in 0.435 s.
A100_IMAGES_PER_S = 920


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/imagefolder"), help="folder with one subfolder per class")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--steps", type=int, help="stop after this many steps")
    parser.add_argument("--seconds", type=float, help="stop after this long")
    parser.add_argument("--least-steps", type=int, default=1, help="with --seconds: not before this many steps")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--print-every", type=int, default=50, help="steps between two lines (default 50)")
    parser.add_argument("--log-every", type=int, default=0, help="read the loss every so many steps (default: only to print it)")
    loading = parser.add_argument_group("loading")
    loading.add_argument("--workers", type=int, default=0)
    loading.add_argument("--prefetch-factor", type=int)
    loading.add_argument("--pin-memory", action="store_true")
    loading.add_argument("--persistent-workers", action="store_true")
    loading.add_argument("--non-blocking", action="store_true")
    emulation = parser.add_argument_group("without a GPU")
    emulation.add_argument("--images-per-second", type=float, default=A100_IMAGES_PER_S, help="speed of the emulated device (default 920)")
    return parser.parse_args()


def make_loader(arguments: argparse.Namespace) -> DataLoader:
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    return DataLoader(
        datasets.ImageFolder(arguments.data, transform),
        batch_size=arguments.batch,
        shuffle=True,
        drop_last=True,
        num_workers=arguments.workers,
        prefetch_factor=arguments.prefetch_factor,
        pin_memory=arguments.pin_memory,
        persistent_workers=arguments.persistent_workers,
    )


class CudaTrainer:
    """ResNet-50 with SGD on a CUDA device."""

    def __init__(self, arguments: argparse.Namespace, classes: int) -> None:
        self.device = torch.device("cuda")
        self.name = torch.cuda.get_device_name(self.device)
        self.non_blocking = arguments.non_blocking
        self.model = models.resnet50(num_classes=classes).to(self.device)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=arguments.lr, momentum=0.9, weight_decay=1e-4)
        self.model.train()

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        images = images.to(self.device, non_blocking=self.non_blocking)
        labels = labels.to(self.device, non_blocking=self.non_blocking)
        loss = self.criterion(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def text(self, loss: torch.Tensor) -> str:
        return f"loss {loss.item():.3f}"

    def finish(self) -> None:
        torch.cuda.synchronize(self.device)


class EmulatedTrainer:
    """Replaces the above: the same copies and the same time per step, but no loss worth reading."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        try:
            from stoker import emulated
        except ImportError:  # run from a checkout: the client is under python/
            sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
            from stoker import emulated
        self.device = emulated.Device()
        self.name = f"emulated device, {arguments.images_per_second:g} images/s"
        self.images_per_second = arguments.images_per_second
        # Without CUDA a loader cannot pin memory, and warns; the emulated device takes the request for the deed.
        warnings.filterwarnings("ignore", message=".*pin_memory.*no accelerator")
        self.pinned = arguments.pin_memory
        self.non_blocking = arguments.non_blocking

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> "EmulatedTrainer":
        self.device.copy(images.nbytes + labels.nbytes, pinned=self.pinned, non_blocking=self.non_blocking)
        self.device.launch(len(images) / self.images_per_second, "resnet50 step")
        return self

    def item(self) -> float:
        """Wait for the device, as reading a loss does."""
        return self.device.item()

    def text(self, loss: "EmulatedTrainer") -> str:
        loss.item()
        return "no loss"

    def finish(self) -> None:
        self.device.synchronize()


def train(arguments: argparse.Namespace, loader: DataLoader, trainer) -> tuple[int, float]:
    """Run the steps; return how many there were and how long they took."""
    steps, start = 0, time.monotonic()
    last_steps, last_time = 0, start
    for epoch in range(arguments.epochs):
        for images, labels in loader:
            loss = trainer.step(images, labels)
            steps += 1
            if arguments.log_every and steps % arguments.log_every == 0:
                loss.item()
            if steps % arguments.print_every == 0:
                text, now = trainer.text(loss), time.monotonic()
                rate = (steps - last_steps) * arguments.batch / (now - last_time)
                print(f"epoch {epoch}  step {steps:5}  {text}  {rate:7.1f} images/s  ({trainer.name})", flush=True)
                last_steps, last_time = steps, now
            late = arguments.seconds and time.monotonic() - start >= arguments.seconds
            if steps == arguments.steps or (late and steps >= arguments.least_steps):
                trainer.finish()
                return steps, time.monotonic() - start
    trainer.finish()
    return steps, time.monotonic() - start


def main() -> int:
    arguments = parse_arguments()
    if not arguments.data.is_dir():
        maker = Path(__file__).with_name("make_images.py")
        print(f"no folder {arguments.data}: make sample images with\n  python {maker} --data {arguments.data}", file=sys.stderr)
        return 1
    loader = make_loader(arguments)
    if len(loader) == 0:
        print(f"{arguments.data} holds fewer than --batch {arguments.batch} images", file=sys.stderr)
        return 1
    trainer = CudaTrainer(arguments, len(loader.dataset.classes)) if torch.cuda.is_available() else EmulatedTrainer(arguments)
    steps, seconds = train(arguments, loader, trainer)
    print(f"{steps} steps in {seconds:.1f} s: {steps * arguments.batch / seconds:.1f} images/s ({trainer.name})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
