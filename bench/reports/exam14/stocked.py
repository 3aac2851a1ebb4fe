"""What a shop will sell is forecast from what it sold; windows of many series are drawn and scaled."""

# https://github.com/autogluon/autogluon/pull/2323

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset

SERIES, LENGTH, CONTEXT, HORIZON, BATCH, CACHE_DATA = 150, 1000, 48, 12, 32, FIX


def add_observed_values(entry):
    missing = numpy.isnan(entry["target"])
    return {**entry, "target": numpy.where(missing, 0, entry["target"]), "observed": ~missing}


def add_age(entry):
    return {**entry, "age": numpy.log10(2 + numpy.arange(len(entry["target"])))}


def add_time_features(entry):
    """Where in the day, the week and the year each hour lies."""
    hours = [entry["start"] + hour for hour in range(len(entry["target"]))]
    features = [[hour % 24 / 23 - 0.5, hour // 24 % 7 / 6 - 0.5, hour // 24 % 365 / 364 - 0.5] for hour in hours]
    return {**entry, "time": numpy.array(features, numpy.float32).T}


class Cached:
    def __init__(self, dataset):
        self.dataset, self.entries = dataset, None

    def __iter__(self):
        if self.entries is None:
            self.entries = list(self.dataset)
        yield from self.entries


class Transformed:
    def __init__(self, series, *steps):
        self.series, self.steps = series, steps

    def __iter__(self):
        for entry in self.series:
            for step in self.steps:
                entry = step(entry)
            yield entry


class TrainingWindows(IterableDataset):
    """One window of each series, over and over."""

    def __init__(self, dataset):
        self.dataset, self.draw = dataset, numpy.random.default_rng(0)

    def __iter__(self):
        while True:
            for entry in self.dataset:
                start = int(self.draw.integers(0, LENGTH - CONTEXT - HORIZON))
                past = slice(start, start + CONTEXT + HORIZON)
                rows = [entry["target"][past], entry["observed"][past], entry["age"][past], *entry["time"][:, past]]
                yield torch.from_numpy(numpy.stack(rows).astype(numpy.float32))


class DeepAR:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, windows):
        self.gpu.copy(windows.nbytes)
        self.gpu.launch(0.0041, "lags, lstm")
        self.gpu.launch(0.0086, "likelihood, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step, draw = Device(spin=False, memory_used=2 << 30), 0, 0, numpy.random.default_rng(0)
    series = [{"start": int(draw.integers(0, 9999)), "target": draw.normal(size=LENGTH)} for _ in range(SERIES)]
    dataset = Transformed(series, add_observed_values, add_age, add_time_features)
    loader = DataLoader(TrainingWindows(Cached(dataset) if CACHE_DATA else dataset), BATCH, num_workers=1)
    model = DeepAR(gpu)
    over()
    for windows in loader:
        model.training_step(windows)
        step, samples = step + 1, samples + len(windows)
        if step % 50 == 0:
            print(f"Epoch {step // 50}, global step {step}: train_loss {gpu.item():.5f}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
