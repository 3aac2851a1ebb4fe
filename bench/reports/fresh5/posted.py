"""Poses are put together on the host after each pass of inference (Daniil-Osokin/lightweight-human-pose-estimation.pytorch#91)."""

import math

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32)


def extract_keypoints(heatmap):
    """Peaks of a map."""
    ys, xs = numpy.nonzero(heatmap > 0.97)
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def group_keypoints(all_keypoints):
    """Pairs of joints that lie near each other."""
    pairs = []
    for first, second in zip(all_keypoints, all_keypoints[1:]):
        for ax, ay in first:
            for bx, by in second:
                length = math.hypot(ax - bx, ay - by)
                if length < 4:
                    pairs.append((length, (ax, ay), (bx, by)))
    pairs.sort()
    return pairs


class PoseEstimator:
    def __init__(self, gpu):
        self.gpu, self.maps = gpu, numpy.random.default_rng(0).random((6, 40, 40))

    @torch.no_grad()
    def infer(self, frame):
        self.gpu.copy(frame.nbytes)
        self.gpu.launch(0.008, "mobilenet")
        self.gpu.item()  # .cpu().numpy()
        return self.maps


def run(gpu, frames):
    net, count = PoseEstimator(gpu), 0
    for frame in frames:
        heatmaps = net.infer(frame)
        if FIX:
            count += int((heatmaps > 0.97).sum() > 0)
        else:
            keypoints = [extract_keypoints(heatmap) for heatmap in heatmaps]
            count += bool(group_keypoints(keypoints))
        if over():
            break
    return count


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    frames = DataLoader(Frames(), batch_size=1, num_workers=1, persistent_workers=True)
    while not over():
        samples += run(gpu, frames)
    done(gpu, samples)


if __name__ == "__main__":
    main()
