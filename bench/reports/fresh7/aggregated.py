"""An emulator of the ocean that draws maps of each variable after each validation."""

# https://github.com/m2lines/Samudra/issues/456
# Cause: after each epoch's validation one thread of the host makes maps and spectra of all variables: two minutes in
#        which the GPU does nothing.
# Fix: make them at every tenth epoch only.
# Line: 52 to 60, get_logs (called at 86), most of it in colours at 34 to 40.

import io

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

VARIABLES = [f"{kind}_{level}" for kind in ("thetao", "so", "uo", "vo") for level in range(6)] + ["zos", "hfds"]


class Ocean(Dataset):
    def __init__(self, times):
        self.times = times
        self.state = torch.rand(len(VARIABLES), 90, 180)

    def __len__(self):
        return self.times

    def __getitem__(self, i):
        return self.state.roll(i, 2), self.state.roll(i + 1, 2)


def colours(field):
    """Encode a map as a PNG: low values in blue, high values in red."""
    low, high = numpy.percentile(field, 2), numpy.percentile(field, 98)
    x = numpy.clip((field - low) / (high - low), 0, 1)
    rgb = numpy.stack([255 * x, 255 * (1 - numpy.abs(2 * x - 1)), 255 * (1 - x)], -1).astype(numpy.uint8)
    with io.BytesIO() as file:
        Image.fromarray(rgb).resize((360, 180), Image.Resampling.BICUBIC).save(file, "png")
        return file.getvalue()


class Aggregator:
    def __init__(self):
        self.sums, self.count = None, 0

    def record(self, predicted, target):
        error = (predicted - target).numpy().mean(0)
        self.sums = error if self.sums is None else self.sums + error
        self.target, self.count = target[0].numpy(), self.count + 1

    def get_logs(self):
        logs = {}
        for number, name in enumerate(VARIABLES):
            bias, truth = self.sums[number] / self.count, self.target[number]
            logs[f"{name}/rmse"] = float(numpy.sqrt((bias**2).mean()))
            logs[f"{name}/bias"], logs[f"{name}/map"] = colours(bias), colours(truth + bias)
            logs[f"{name}/zonal"] = truth.mean(1)
            logs[f"{name}/spectrum"] = numpy.abs(numpy.fft.rfft2(truth)).mean(0)
        return logs


def copy_of(gpu, parts):
    gpu.copy(sum(part.nbytes for part in parts), pinned=True, non_blocking=True)


def train_one_epoch(gpu, loader):
    samples = 0
    for state, after in loader:
        copy_of(gpu, (state, after))
        gpu.launch(0.010, "convnext unet")
        gpu.launch(0.020, "backward, adam")
        samples += len(state)
        if over():
            break
    return samples, gpu.item()


def validate_one_epoch(gpu, loader, epoch):
    aggregator = Aggregator()
    for state, after in loader:
        copy_of(gpu, (state, after))
        gpu.launch(0.010, "convnext unet")
        gpu.item()
        aggregator.record(state, after)
    return aggregator.get_logs() if not FIX or epoch % 10 == 0 else {}


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    options = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train = DataLoader(Ocean(64), 2, shuffle=True, **options)
    validation = DataLoader(Ocean(8), 2, **options)
    while not over():
        seen, loss = train_one_epoch(gpu, train)
        samples, epoch = samples + seen, epoch + 1
        logs = validate_one_epoch(gpu, validation, epoch)
        print(f"epoch {epoch}: loss {loss:.4f}, {len(logs)} logs", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
