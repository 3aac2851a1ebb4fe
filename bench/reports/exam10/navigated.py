"""A car learns to follow its route from seven cameras, each a film, and from how it moved before."""

# https://github.com/autowarefoundation/auto_e2e/issues/30
# Cause: how the car moved (eight numbers a moment) is read through the same call as the pictures: all films are decoded for it.
# Fix: read the numbers from the table; only the pictures of one moment are decoded.
# Line: 36 to 42, 45, 59, 64: ego_window in L2DDataset.__getitem__, by way of item and decode.

import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CAMERAS, FRAMES, PAST, FUTURE, BATCH, SIZE = 7, 90, 4, 5, 4, (112, 72)


def film(path, shift):
    writer = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 10, SIZE)
    road = cv2.GaussianBlur(numpy.random.default_rng(shift).integers(0, 255, (SIZE[1], 400, 3), dtype=numpy.uint8), (0, 0), 3)
    for frame in range(FRAMES):
        writer.write(numpy.ascontiguousarray(road[:, 2 * frame : 2 * frame + SIZE[0]]))
    writer.release()


class LeRobotDataset:
    """Films, and a table with a row for each moment."""

    def __init__(self, folder):
        self.paths, self.films = [f"{folder}/camera_{camera}.avi" for camera in range(CAMERAS)], None
        self.table = numpy.random.default_rng(0).normal(size=(FRAMES, 8)).astype(numpy.float32)

    def decode(self, i):
        if self.films is None:
            self.films = [cv2.VideoCapture(path) for path in self.paths]
        frames = []
        for capture in self.films:
            capture.set(cv2.CAP_PROP_POS_FRAMES, i)
            frames.append(capture.read()[1])
        return numpy.stack(frames)

    def item(self, i):
        return {"cameras": self.decode(i), "state": self.table[i]}


class L2DDataset(Dataset):
    def __init__(self, source, count=6000):
        self.source, self.count = source, count

    def __len__(self):
        return self.count

    def ego_window(self, moment):
        around = range(moment - PAST, moment + FUTURE)
        if FIX:
            return self.source.table[around.start : around.stop]
        return numpy.stack([self.source.item(other)["state"] for other in around])

    def __getitem__(self, i):
        moment = PAST + i * 37 % (FRAMES - PAST - FUTURE)
        views = self.source.item(moment)["cameras"]
        ego = self.ego_window(moment)
        return torch.from_numpy(views).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(ego.copy())


class AutoE2E:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, views, ego):
        self.gpu.copy(views.nbytes + ego.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.019, "seven backbones")
        self.gpu.launch(0.041, "fusion, planner, backward, adamw")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for camera in range(CAMERAS):
            film(f"{folder}/camera_{camera}.avi", camera)
        dataset, model = L2DDataset(LeRobotDataset(folder)), AutoE2E(gpu)
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for views, ego in loader:
                model.step(views, ego)
                step, samples = step + 1, samples + len(ego)
                if step % 20 == 0:
                    print(f"[Epoch 1] step {step} loss {gpu.item():.4f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
