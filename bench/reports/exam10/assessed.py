"""Many properties of molecules are learned at once by a graph network; each property has its scores."""

# https://github.com/datamol-io/graphium/pull/409
# Cause: after each training step all predictions come back to the host, and the scores of all properties are computed there.
# Fix: scores of the training data only every so many steps (metrics_every_n_train_steps).
# Line: 31 to 35, 39 to 40, 44 to 45, 60 to 63, 66 to 67, 79: update_metrics, called in PredictorModule.on_train_batch_end.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

GRAPHS, TASKS, BATCH, METRICS_EVERY = 20_000, 96, 512, 50 if FIX else 1


class MultitaskDataset(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.features = torch.zeros(24, 16)
        self.targets = torch.from_numpy((draw.random((GRAPHS, TASKS)) < 0.3).astype(numpy.float32))

    def __len__(self):
        return GRAPHS

    def __getitem__(self, i):
        return self.features, self.targets[i]


def auroc(scores, targets):
    order = numpy.argsort(scores)
    ranks = numpy.empty(len(scores))
    ranks[order] = numpy.arange(1, len(scores) + 1)
    positive = targets.sum()
    return (ranks[targets > 0].sum() - positive * (positive + 1) / 2) / max(positive * (len(scores) - positive), 1)


def average_precision(scores, targets):
    hits = targets[numpy.argsort(-scores)]
    return (hits * numpy.cumsum(hits) / numpy.arange(1, len(hits) + 1)).sum() / max(hits.sum(), 1)


def spearman(scores, targets):
    first, second = (numpy.argsort(numpy.argsort(values)).astype(float) for values in (scores, targets))
    return numpy.corrcoef(first, second)[0, 1]


class PredictorModule:
    def __init__(self, gpu):
        self.gpu, self.draw, self.metrics = gpu, numpy.random.default_rng(1), {}

    def training_step(self, features, targets):
        self.gpu.copy(features.nbytes + targets.nbytes, pinned=True, non_blocking=True)
        for layer in range(4):
            self.gpu.launch(0.0026, f"gps layer {layer}")
        self.gpu.launch(0.0186, "heads, losses, backward, adam")
        return targets.numpy()

    def update_metrics(self, targets):
        self.gpu.item()
        preds = targets * 0.2 + self.draw.random(targets.shape)
        for metric in (auroc, average_precision, spearman):
            self.metrics[metric.__name__] = [metric(preds[:, task], targets[:, task]) for task in range(TASKS)]

    def on_train_batch_end(self, step, targets):
        if step % METRICS_EVERY == 0:
            self.update_metrics(targets)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    predictor = PredictorModule(gpu)
    loader = DataLoader(MultitaskDataset(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for features, targets in loader:
            preds = predictor.training_step(features, targets)
            step, samples = step + 1, samples + len(targets)
            predictor.on_train_batch_end(step, preds)
            if step % 100 == 0:
                scores = predictor.metrics["auroc"]
                print(f"step {step}: graph_pcba_1328/auroc/train={numpy.mean(scores):.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
