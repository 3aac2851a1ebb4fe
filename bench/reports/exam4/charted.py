"""Maps of all variables are drawn after each epoch while the device idles (m2lines/Samudra#456)."""

import io

import numpy
import torch
from common import FIX, done, over
from PIL import Image, ImageDraw
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NAMES = ["uo", "vo", "thetao", "so", "zos", "hfds", "tauuo", "tauvo"]
MAP_EPOCHS = 10 if FIX else 1


class OceanDataset(Dataset):
    """States of the ocean on a grid, and the ones that follow them."""

    def __init__(self, length, shape=(8, 90, 180), seed=0):
        self.length = length
        self.states = numpy.random.default_rng(seed).standard_normal((16, *shape)).astype(numpy.float32)

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return torch.from_numpy(self.states[i % 16]), torch.from_numpy(self.states[(i + 1) % 16])


class Reduced:
    """Root mean square error of each variable, weighted by area."""

    def __init__(self):
        self.weights = numpy.cos(numpy.linspace(-1.5, 1.5, 90))[:, None]
        self.errors = []

    def record(self, target, gen):
        self.errors.append((((gen - target) ** 2) * self.weights).mean((0, 2, 3)))

    def get_logs(self, label):
        errors = numpy.sqrt(numpy.mean(self.errors, 0))
        return {f"{label}/rmse/{name}": float(value) for name, value in zip(NAMES, errors, strict=True)}


class Panel:
    """Side by side: what was foretold, what came, and the difference of the two."""

    def __init__(self, title):
        self.title, self.last = title, None

    def record(self, target, gen):
        self.last = target[-1], gen[-1]

    def render(self, fields, name):
        figure = Image.new("RGB", (3 * 600 + 40, 360), "white")
        draw = ImageDraw.Draw(figure)
        for n, field in enumerate(fields):
            low, high = numpy.quantile(field, [0.02, 0.98])
            scaled = numpy.clip((field - low) / (high - low + 1e-9), 0, 1)
            colours = numpy.stack([scaled, 1 - abs(2 * scaled - 1), 1 - scaled], -1)
            tile = Image.fromarray((255 * colours).astype(numpy.uint8)).resize((600, 300), Image.Resampling.BICUBIC)
            figure.paste(tile, (20 + 600 * n, 40))
            draw.text((30 + 600 * n, 10), f"{self.title} {name} [{low:.2f}, {high:.2f}]", fill="black")
        buffer = io.BytesIO()
        figure.save(buffer, "PNG")
        return buffer.getvalue()

    def get_logs(self, label):
        target, gen = self.last
        return {f"{label}/{self.title}/{name}": self.render((t, g, g - t), name) for name, t, g in zip(NAMES, target, gen, strict=True)}


class Aggregator:
    def __init__(self):
        self.parts = [Reduced(), Panel("snapshot"), Panel("mean_map")]

    def record_batch(self, target, gen):
        for part in self.parts:
            part.record(target, gen)

    def get_logs(self, label, epoch):
        parts = self.parts if epoch % MAP_EPOCHS == 0 else self.parts[:1]
        return {key: value for part in parts for key, value in part.get_logs(label).items()}


class Trainer:
    def __init__(self):
        self.gpu, self.samples = Device(spin=False), 0
        settings = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
        self.train_loader = DataLoader(OceanDataset(320), 4, shuffle=True, **settings)
        self.val_loader = DataLoader(OceanDataset(40, seed=1), 4, **settings)

    def train_one_epoch(self):
        for prognostic, target in self.train_loader:
            self.gpu.copy(prognostic.nbytes + target.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.018, "unet, loss, backward")
            self.samples += len(target)
            if over():
                break
        return self.gpu.item()

    def validate_one_epoch(self, epoch):
        aggregator = Aggregator()
        for prognostic, target in self.val_loader:
            self.gpu.copy(prognostic.nbytes + target.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.006, "unet")
            self.gpu.item()
            aggregator.record_batch(target.numpy(), prognostic.numpy())
        return aggregator.get_logs("val", epoch)

    def run(self):
        epoch = 0
        while not over():
            loss = self.train_one_epoch()
            logs = self.validate_one_epoch(epoch)
            print(f"epoch {epoch}: {loss}, {len(logs)} logs", flush=True)
            epoch += 1
        done(self.gpu, self.samples)


if __name__ == "__main__":
    torch.set_num_threads(1)
    Trainer().run()
