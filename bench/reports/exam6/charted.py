"""A diffusion model learns a new subject; each preview also draws the curves of the loss so far."""

# https://github.com/d8ahazard/sd_dreambooth_extension/issues/1035
# Cause: with each preview all of the log is read and smoothed again for the plots: it grows with the run.
# Fix: leave the plots out, or keep what was read before and read only what is new.
# Line: 58 to 63, parse_logs (called at 79).

import json
import os
import tempfile

import torch
from common import FIX, done, over
from PIL import Image, ImageDraw
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Latents(Dataset):
    def __len__(self):
        return 800

    def __getitem__(self, i):
        return torch.full((4, 64, 64), i / 800), torch.zeros(77, 768)


class Log:
    """One line for each step; earlier sessions of the training have left theirs."""

    def __init__(self, folder, earlier=120_000):
        self.path, self.read, self.step, self.values = os.path.join(folder, "log.jsonl"), 0, 0, []
        self.file = open(self.path, "a+")
        for _ in range(earlier):
            self.write(0.1)
        self.file.flush()
        if FIX:
            self.parse_new()

    def write(self, loss):
        self.step += 1
        self.file.write(json.dumps({"step": self.step, "loss": loss, "lr": 2e-6, "vram": 9.5, "prior": loss / 2}) + "\n")

    def parse_new(self):
        with open(self.path) as file:
            file.seek(self.read)
            for line in file:
                entry, last = json.loads(line), self.values[-1] if self.values else None
                self.values.append(smoothed(last, entry))
            self.read = file.tell()
        return self.values


def smoothed(last, entry, weight=0.98):
    new = [entry[k] for k in ("loss", "lr", "vram")]
    return new if last is None else [weight * a + (1 - weight) * b for a, b in zip(last, new, strict=True)]


def parse_logs(log):
    values = []
    with open(log.path) as file:
        for line in file:
            entry, last = json.loads(line), values[-1] if values else None
            values.append(smoothed(last, entry))
    return values


def plot(values, folder):
    for number in range(3):
        chart = Image.new("RGB", (640, 480), "white")
        chosen = values[:: max(1, len(values) // 640)]
        ImageDraw.Draw(chart).line([(x, 400 - 300 * v[number]) for x, v in enumerate(chosen)], fill="blue")
        chart.save(os.path.join(folder, f"plot {number}.png"))


def preview(gpu, log, folder):
    gpu.launch(0.25, "sampler, vae")
    gpu.item()
    log.file.flush()
    plot(log.parse_new() if FIX else parse_logs(log), folder)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    loader = DataLoader(Latents(), 2, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        while not over():
            for latents, words in loader:
                gpu.copy(latents.nbytes + words.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.018, "unet")
                gpu.launch(0.032, "backward, adamw")
                step, samples = step + 1, samples + len(latents)
                log.write(0.1 + gpu.item())
                if step % 12 == 0:
                    preview(gpu, log, folder)
                    print(f"step {log.step}: preview", flush=True)
                if over():
                    break
        log.file.close()
    done(gpu, samples)


if __name__ == "__main__":
    main()
