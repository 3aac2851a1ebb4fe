"""A car learns to drive from cameras and lidar; each moment of a drive is many small files on the cluster's storage."""

# https://github.com/autonomousvision/transfuser/issues/154
# Cause: a sample opens many input and label files, one after the other, on a slow disk.
# Fix: keep the data on a fast SSD (the cache module copies it there).
# Line: 49 to 51, 61 to 63, 65 to 71: Storage.path in CARLA_Data.__getitem__.

import gzip
import json
import shutil
import tempfile
import time
from pathlib import Path

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

MOMENTS, BATCH, LATENCY = 96, 8, 0.004
SENSORS = ("rgb", "rgb_augmented", "semantics", "depth", "bev_semantics")


def write_routes(root):
    draw = numpy.random.default_rng(0)
    picture = cv2.GaussianBlur(draw.integers(0, 255, (64, 176, 3), dtype=numpy.uint8), (0, 0), 3)
    for sensor in (*SENSORS, "lidar", "measurements", "boxes"):
        (root / sensor).mkdir(parents=True)
    for moment in range(MOMENTS):
        for sensor in SENSORS:
            view = numpy.roll(picture, moment, 1)
            cv2.imwrite(f"{root}/{sensor}/{moment:04}.png", view if "rgb" in sensor else view[..., 0] // 32)
        numpy.save(root / "lidar" / f"{moment:04}.npy", draw.normal(0, 20, (3000, 4)).astype(numpy.float32))
        state = {"speed": float(draw.uniform(0, 9)), "steer": 0.1, "route": draw.normal(size=(20, 2)).round(3).tolist()}
        boxes = [{"class": "car", "extent": [2, 1, 1], "position": draw.normal(size=3).round(2).tolist()} for _ in range(8)]
        for name, content in (("measurements", state), ("boxes", boxes)):
            with gzip.open(root / name / f"{moment:04}.json.gz", "wt") as file:
                json.dump(content, file)


class Storage:
    """The cluster's file system: opening a file asks a server far away; the local SSD does not."""

    def __init__(self, root, latency):
        self.root, self.latency = root, latency

    def path(self, sensor, moment, suffix):
        time.sleep(self.latency)
        return self.root / sensor / f"{moment:04}{suffix}"


class CARLA_Data(Dataset):
    def __init__(self, storage):
        self.storage = storage

    def __len__(self):
        return 20 * MOMENTS

    def load_json(self, name, moment):
        with gzip.open(self.storage.path(name, moment, ".json.gz"), "rt") as file:
            return json.load(file)

    def __getitem__(self, index):
        moment = index % (MOMENTS - 2)
        views = [cv2.imread(str(self.storage.path(sensor, moment, ".png"))) for sensor in SENSORS]
        lidar = numpy.load(self.storage.path("lidar", moment, ".npy"))
        bev = numpy.histogram2d(lidar[:, 0], lidar[:, 1], bins=(64, 64), range=((-32, 32), (-32, 32)))[0]
        boxes = numpy.array([box["position"] for box in self.load_json("boxes", moment)], numpy.float32)
        states = [self.load_json("measurements", moment + later) for later in range(3)]
        waypoints = numpy.array([state["route"][0] for state in states], numpy.float32)
        return torch.from_numpy(numpy.stack(views)), torch.from_numpy(bev), torch.from_numpy(boxes), torch.from_numpy(waypoints)


class Transfuser:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch), pinned=True, non_blocking=True)
        self.gpu.launch(0.032, "image and lidar encoders, four fusions")
        self.gpu.launch(0.068, "detection, waypoints, backward, adamw")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        write_routes(Path(folder, "nas"))
        storage = Storage(Path(folder, "nas"), LATENCY)
        if FIX:
            shutil.copytree(storage.root, Path(folder, "ssd"))
            storage = Storage(Path(folder, "ssd"), 0)
        model = Transfuser(gpu)
        loader = DataLoader(CARLA_Data(storage), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for batch in loader:
                model.step(batch)
                step, samples = step + 1, samples + len(batch[0])
                if step % 20 == 0:
                    print(f"step {step} loss_total {gpu.item():.4f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
