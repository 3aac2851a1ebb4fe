"""After each epoch the whole training set is passed through the model again for metrics (ludwig-ai/ludwig#2856)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

CONFIG = {
    "input_features": [{"name": f"x{n}", "type": "number"} for n in range(20)],
    "output_features": [{"name": "y", "type": "category"}],
    "trainer": {"batch_size": 512, "evaluate_training_set": not FIX},
}


class RandomAccessBatcher:
    def __init__(self, columns, batch_size, shuffle):
        size = len(next(iter(columns.values())))
        self.columns, self.batch_size = columns, batch_size
        self.order = numpy.random.permutation(size) if shuffle else numpy.arange(size)

    def __iter__(self):
        for start in range(0, len(self.order), self.batch_size):
            chosen = self.order[start : start + self.batch_size]
            yield {name: torch.from_numpy(column[chosen]) for name, column in self.columns.items()}


class Metrics:
    """Accuracy, hits at three and loss, gathered batch by batch."""

    def __init__(self):
        self.sums, self.count = {"accuracy": 0.0, "hits_at_k": 0.0}, 0

    def update(self, predictions, targets):
        best = predictions.topk(3, dim=1).indices
        self.sums["accuracy"] += float((best[:, 0] == targets).sum())
        self.sums["hits_at_k"] += float((best == targets[:, None]).any(1).sum())
        self.count += len(targets)

    def compute(self):
        return {name: value / max(1, self.count) for name, value in self.sums.items()}


class ECD:
    """Encoders, a combiner and a decoder, on the device."""

    def __init__(self, gpu):
        self.gpu, self.output = gpu, torch.rand(512, 8)

    def forward(self, batch, train):
        self.gpu.copy(sum(column.nbytes for column in batch.values()))
        self.gpu.launch(0.009, "encoders, combiner, decoder")
        if train:
            self.gpu.launch(0.012, "backward, adam")
        return self.output[: len(batch["y"])]


class Trainer:
    def __init__(self, model, settings):
        self.model, self.settings, self.samples = model, settings, 0

    def evaluation(self, dataset):
        metrics = Metrics()
        for batch in RandomAccessBatcher(dataset, self.settings["batch_size"], shuffle=False):
            predictions = self.model.forward(batch, train=False)
            self.model.gpu.item()
            metrics.update(predictions, batch["y"])
            if over():
                break
        return metrics.compute()

    def train_epoch(self, dataset):
        metrics = Metrics()
        for batch in RandomAccessBatcher(dataset, self.settings["batch_size"], shuffle=True):
            predictions = self.model.forward(batch, train=True)
            self.samples += len(predictions)
            if not self.settings["evaluate_training_set"]:
                metrics.update(predictions, batch["y"])
            if over():
                break
        self.model.gpu.item()
        return metrics.compute()

    def train(self, training_set, validation_set):
        epoch = 0
        while not over():
            training = self.train_epoch(training_set)
            if self.settings["evaluate_training_set"]:
                training = self.evaluation(training_set)
            validation = self.evaluation(validation_set)
            print(f"epoch {epoch}: training {training}, validation {validation}", flush=True)
            epoch += 1
        return self.samples


def table(rows, seed):
    draw = numpy.random.default_rng(seed)
    columns = {feature["name"]: draw.random(rows, numpy.float32) for feature in CONFIG["input_features"]}
    return columns | {"y": draw.integers(0, 8, rows)}


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    trainer = Trainer(ECD(gpu), CONFIG["trainer"])
    done(gpu, trainer.train(table(60_000, 0), table(8_000, 1)))


if __name__ == "__main__":
    main()
