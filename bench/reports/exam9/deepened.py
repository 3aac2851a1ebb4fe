"""Depth of a street is learned from pictures and the sparse points of a lidar, by a diffusion network."""

# https://github.com/duanyiqun/DiffusionDepth/issues/24
# Cause: the data set fills the gaps of each depth map by solving a system of equations, and nothing uses the result.
# Fix: leave that part out.
# Line: 20 to 37, 59: fill_depth_colorization in KITTIDC.__getitem__.

import cv2
import numpy
import scipy.sparse
import scipy.sparse.linalg
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

HEIGHT, WIDTH, BATCH = 36, 60, 2


def fill_depth_colorization(rgb, depth):
    """Levin's colorization: neighbours of the same colour have the same depth."""
    grey, known = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(numpy.float64) / 255, depth > 0
    numbers = numpy.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
    rows, columns, values = [], [], []
    for y in range(HEIGHT):
        for x in range(WIDTH):
            around = slice(max(0, y - 1), y + 2), slice(max(0, x - 1), x + 2)
            window, here = grey[around].ravel(), numbers[y, x]
            variance = max(0.6 * ((window - window.mean()) ** 2).mean(), 1e-6)
            weights = numpy.exp(-((window - grey[y, x]) ** 2) / variance)
            others = numbers[around].ravel()
            weights[others == here] = 0
            rows += [here] * (len(others) + 1)
            columns += [*others, here]
            values += [*(-weights / weights.sum()), 1.0 + known[y, x]]
    system = scipy.sparse.csr_matrix((values, (rows, columns)), (HEIGHT * WIDTH,) * 2)
    return scipy.sparse.linalg.spsolve(system, (known * depth).ravel()).reshape(HEIGHT, WIDTH)


class KITTIDC(Dataset):
    def __init__(self, count=4000):
        draw = numpy.random.default_rng(0)
        street = cv2.GaussianBlur(draw.integers(0, 255, (HEIGHT, 3 * WIDTH, 3), dtype=numpy.uint8), (0, 0), 2)
        self.pictures = [cv2.imencode(".png", street[:, 4 * v : 4 * v + WIDTH])[1] for v in range(20)]
        far = numpy.linspace(60, 5, HEIGHT)[:, None] * numpy.ones(WIDTH)
        self.depths = [(far + draw.normal(0, 0.3, far.shape)) * (draw.random(far.shape) < 0.2) for _ in range(20)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        rgb = cv2.cvtColor(cv2.imdecode(self.pictures[i % 20], cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        depth = self.depths[i % 20]
        if numpy.random.random() > 0.5:
            rgb, depth = numpy.ascontiguousarray(rgb[:, ::-1]), numpy.ascontiguousarray(depth[:, ::-1])
        output = {"rgb": torch.from_numpy(rgb).permute(2, 0, 1).contiguous(), "dep": torch.from_numpy(depth).float()}
        if not FIX:
            output["depth_map"] = torch.from_numpy(fill_depth_colorization(rgb, depth)).float()
        return output


class DiffusionDepth:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, sample):
        self.gpu.copy(sum(part.nbytes for part in sample.values()), pinned=True, non_blocking=True)
        self.gpu.launch(0.013, "mpvit")
        for t in range(4):
            self.gpu.launch(0.0015, f"denoise {t}")
        self.gpu.launch(0.026, "l1, l2, ddim loss, backward, adamw")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    model = DiffusionDepth(gpu)
    loader = DataLoader(KITTIDC(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for sample in loader:
            model.step(sample)
            step, samples = step + 1, samples + len(sample["rgb"])
            if step % 20 == 0:
                print(f"Train | {step} | Loss = {gpu.item():.4f} | Lr : [0.0005]", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
