"""Mice are found in a film: the network finds parts of bodies, and the host puts them together."""

# https://github.com/talmolab/sleap-nn/pull/463

import multiprocessing
from collections import deque

import numpy
import torch
from common import FIX, done, over
from scipy.optimize import linear_sum_assignment
from stoker.emulated import Device

FRAMES, BATCH, ANIMALS, NODES, SIDE, SAMPLED, WAITING = 64, 4, 4, 7, 80, 10, 4
EDGES = [(node, node + 1) for node in range(NODES - 1)]


class PAFScorer:
    """Which peak belongs to which, by the field between them."""

    def score(self, paf, source, target):
        """The mean of the field along the line from one peak to the other."""
        direction = target - source
        direction = direction / (numpy.linalg.norm(direction) + 1e-6)
        total = 0.0
        for share in numpy.linspace(0, 1, SAMPLED):
            x, y = (source + share * (target - source)).astype(int)
            total += float(paf[:, y, x] @ direction)
        return total / SAMPLED

    def scores(self, paf, sources, targets):
        """The same of all pairs at once."""
        directions = targets[None] - sources[:, None]
        points = sources[:, None, None] + directions[:, :, None] * numpy.linspace(0, 1, SAMPLED)[:, None]
        x, y = points.astype(int).transpose(3, 0, 1, 2)
        directions /= numpy.linalg.norm(directions, axis=2, keepdims=True) + 1e-6
        return numpy.einsum("cijs,ijc->ij", paf[:, y, x], directions) / SAMPLED

    def group(self, peaks, pafs):
        """Instances of one frame."""
        matches = []
        for edge, (first, second) in enumerate(EDGES):
            if FIX:
                cost = -self.scores(pafs[edge], peaks[first], peaks[second])
            else:
                cost = numpy.empty((ANIMALS, ANIMALS))
                for i in range(ANIMALS):
                    for j in range(ANIMALS):
                        cost[i, j] = -self.score(pafs[edge], peaks[first, i], peaks[second, j])
            matches.append(linear_sum_assignment(cost)[1])
        return matches


def postprocess(peaks, pafs):
    scorer = PAFScorer()
    return [scorer.group(*frame) for frame in zip(peaks, pafs, strict=True)]


class BottomUpPredictor:
    def __init__(self, gpu):
        draw = numpy.random.default_rng(0)
        self.gpu, self.labels = gpu, 0
        self.peaks = draw.random((BATCH, NODES, ANIMALS, 2)) * (SIDE - 1)
        self.pafs = draw.random((BATCH, len(EDGES), 2, SIDE, SIDE), dtype=numpy.float32)

    def infer(self, frames):
        """Peaks and fields of some frames."""
        self.gpu.copy(frames.nbytes)
        self.gpu.launch(0.0262, "unet, peaks")
        self.gpu.item()
        return self.peaks, self.pafs

    def predict(self, frames):
        self.labels += len(postprocess(*self.infer(frames)))

    def predict_ahead(self, frames, pool, waiting):
        """The same, while another process puts together what was found before."""
        waiting.append(pool.apply_async(postprocess, self.infer(frames)))
        if len(waiting) > WAITING:
            self.labels += len(waiting.popleft().get())


def main():
    torch.set_num_threads(1)
    pool = multiprocessing.Pool(1) if FIX else None
    gpu, batch, waiting = Device(spin=False, memory_used=2 << 30), 0, deque()
    predictor, film = BottomUpPredictor(gpu), torch.zeros(FRAMES, 1, 512, 640, dtype=torch.uint8)
    while not over():
        first = batch * BATCH % FRAMES
        frames = film[first : first + BATCH]
        if pool:
            predictor.predict_ahead(frames, pool, waiting)
        else:
            predictor.predict(frames)
        batch += 1
        if batch % 25 == 0:
            print(f"Predicting... {batch * BATCH}/90000 frames", flush=True)
    done(gpu, predictor.labels)
    if pool:
        pool.close()
        pool.join()


if __name__ == "__main__":
    main()
