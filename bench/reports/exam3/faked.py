"""Precision, recall, density and coverage are computed on the host (POSTECH-CVLab/PyTorch-StudioGAN#154)."""

import numpy
import torch
from common import FIX, done, over
from scipy.spatial.distance import cdist
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32)


class Metrics:
    def __init__(self, gpu, count=2500):
        self.gpu = gpu
        self.real = numpy.random.default_rng(0).standard_normal((count, 256)).astype(numpy.float32)
        self.fake = numpy.random.default_rng(1).standard_normal((count, 256)).astype(numpy.float32)

    def features(self):
        """Generate images and take them through Inception."""
        self.gpu.launch(0.4, "generator, inception")
        self.gpu.item()
        return self.real, self.fake

    def fid(self):
        self.gpu.launch(0.1, "means, covariances")
        return self.gpu.item()

    def nearest_neighbour_distances(self, features, nearest_k):
        distances = cdist(features, features)
        return numpy.partition(distances, nearest_k, axis=-1)[:, nearest_k]

    def prdc(self, real, fake, nearest_k=5):
        real_radii = self.nearest_neighbour_distances(real, nearest_k)
        fake_radii = self.nearest_neighbour_distances(fake, nearest_k)
        distances = cdist(real, fake)
        precision = (distances < real_radii[:, None]).any(axis=0).mean()
        recall = (distances < fake_radii[None]).any(axis=1).mean()
        density = (distances < real_radii[:, None]).sum(axis=0).mean() / nearest_k
        coverage = (distances.min(axis=1) < real_radii).mean()
        return precision, recall, density, coverage


class Worker:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.metrics = Metrics(self.gpu)
        self.eval_metrics = ["fid"] if FIX else ["fid", "prdc"]

    def train(self, batch):
        self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.012, "discriminator")
        self.gpu.launch(0.012, "generator")
        return len(batch)

    def evaluate(self):
        real, fake = self.metrics.features()
        results = {"fid": self.metrics.fid()}
        if "prdc" in self.eval_metrics:
            results["prdc"] = self.metrics.prdc(real, fake)
        return results


def main():
    torch.set_num_threads(1)
    worker, samples = Worker(), 0
    loader = DataLoader(Images(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True)
    for step, batch in enumerate(loader, 1):
        samples += worker.train(batch)
        if step % 80 == 0:
            print(step, worker.evaluate(), flush=True)
        if over():
            break
    done(worker.gpu, samples)


if __name__ == "__main__":
    main()
