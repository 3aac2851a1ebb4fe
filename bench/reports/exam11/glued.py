"""Points of two pictures of a place are matched; a network learns which belong together."""

# https://github.com/cvg/glue-factory/pull/30

import tempfile
from pathlib import Path

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

KEYPOINTS, BATCH, EVAL_EVERY, VALIDATION = 512, 16, 40, 6
PLOT = not FIX


class HomographyDataset(Dataset):
    def __init__(self, count):
        draw = numpy.random.default_rng(0)
        self.keypoints, self.descriptors = draw.uniform(0, 480, (KEYPOINTS, 2)), draw.normal(size=(KEYPOINTS, 64))
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        angle = 0.01 * (i % 40)
        turn = numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
        other = self.keypoints @ turn
        parts = (self.keypoints, other, self.descriptors)
        return tuple(torch.from_numpy(part.astype(numpy.float32)) for part in parts)


class Figures:
    """Both pictures beside each other, with a line for each match, as a PNG."""

    def __init__(self, folder):
        self.folder = Path(folder)
        draw = numpy.random.default_rng(1)
        self.view = cv2.GaussianBlur(draw.integers(0, 255, (480, 640, 3), dtype=numpy.uint8), (0, 0), 2)

    def make_match_figures(self, step, number, first, second):
        for name in ("matching", "keypoints", "scores"):
            canvas = cv2.resize(numpy.hstack([self.view, self.view]), None, fx=1.5, fy=1.5)
            for (x, y), (u, v) in zip(first.tolist(), second.tolist(), strict=True):
                ends = (int(1.5 * x), int(1.5 * y)), (int(1.5 * u) + 960, int(1.5 * v))
                cv2.line(canvas, *ends, (0, 200, 0), 1, cv2.LINE_AA)
                cv2.circle(canvas, ends[0], 3, (255, 0, 0), -1, cv2.LINE_AA)
            cv2.imwrite(str(self.folder / f"{name}_{step % 200}_{number}.png"), canvas, [cv2.IMWRITE_PNG_COMPRESSION, 6])


class LightGlue:
    def __init__(self, gpu):
        self.gpu = gpu

    def forward(self, parts):
        self.gpu.copy(sum(part.nbytes for part in parts), pinned=True, non_blocking=True)
        for layer in range(9):
            self.gpu.launch(0.0005, f"self and cross attention {layer}")

    def training_step(self, parts):
        self.forward(parts)
        self.gpu.launch(0.0105, "loss, backward, adam")


def do_evaluation(model, loader, figures, step):
    for number, parts in enumerate(loader):
        model.forward(parts)
        model.gpu.item()
        if PLOT:
            figures.make_match_figures(step, number, parts[0][0], parts[1][0])


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    model, options = LightGlue(gpu), {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train = DataLoader(HomographyDataset(20_000), BATCH, shuffle=True, **options)
    validation = DataLoader(HomographyDataset(VALIDATION * BATCH), BATCH, **options)
    with tempfile.TemporaryDirectory() as folder:
        figures = Figures(folder)
        while not over():
            for parts in train:
                model.training_step(parts)
                step, samples = step + 1, samples + len(parts[0])
                if step % EVAL_EVERY == 0:
                    print(f"[E 0 | it {step}] loss {{total {gpu.item():.3E}}}", flush=True)
                    do_evaluation(model, validation, figures, step)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
