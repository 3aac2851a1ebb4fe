"""The curve of all losses so far is drawn again in each step, slower and slower (mit-han-lab/gan-compression#47)."""

import tempfile

import numpy
import torch
from common import FIX, done, over
from PIL import Image, ImageDraw
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64)


class Visualizer:
    def __init__(self, path):
        self.path, self.history = path, []

    def plot_current_losses(self, step, losses):
        self.history.append((step, *losses))
        picture = Image.new("RGB", (640, 480), "white")
        pen, all_steps = ImageDraw.Draw(picture), numpy.array(self.history)
        for column in range(1, all_steps.shape[1]):
            points = [(x * 640 / (step + 1), 480 - y * 480) for x, y in all_steps[:, [0, column]].tolist()]
            if len(points) > 1:
                pen.line(points, fill="blue", width=2)
        picture.save(self.path)


def main():
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        gpu, visualizer = Device(), Visualizer(file.name)
        loader = DataLoader(Pairs(), batch_size=4, shuffle=True, num_workers=1, pin_memory=True)
        noise, samples = numpy.random.default_rng(0), 0
        for step, batch in enumerate(loader):
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.008, "step")
            if not FIX or step % 200 == 0:
                gpu.item()
                visualizer.plot_current_losses(step, noise.random(6))
            samples += len(batch)
            if over():
                break
        done(gpu, samples)


if __name__ == "__main__":
    main()
