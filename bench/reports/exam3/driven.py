"""A summary of each weight and gradient is written in each step: tensorboard_verbose=2 (Sentdex/pygta5#26)."""

import json
import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

SHAPES = [(11, 11, 96), (5, 5, 1536), (3, 3, 4608), (3, 3, 4608), (3, 3, 3072), (256, 256), (256, 256), (256, 9)]


class SummaryWriter:
    def __init__(self, folder):
        self.file = open(os.path.join(folder, "events.out"), "w")  # noqa: SIM115

    def add_scalar(self, tag, value, step):
        self.file.write(json.dumps({"tag": tag, "simple_value": value, "step": step}) + "\n")

    def add_histogram(self, tag, values, step):
        counts, limits = numpy.histogram(values, bins=64)
        histo = {"bucket": counts.tolist(), "limit": limits.tolist(), "sum": float(values.sum()), "max": float(values.max())}
        self.file.write(json.dumps({"tag": tag, "histo": histo, "step": step}) + "\n")

    def flush(self):
        self.file.flush()


class DNN:
    """AlexNet as tflearn trains it: verbose 0 writes loss and accuracy, 2 weights and gradients as well."""

    def __init__(self, tensorboard_verbose, tensorboard_dir):
        self.gpu, self.verbose, self.step = Device(spin=False), tensorboard_verbose, 0
        self.writer = SummaryWriter(tensorboard_dir)
        self.weights = {f"Conv2D_{n}/W": numpy.random.standard_normal(shape).astype(numpy.float32) for n, shape in enumerate(SHAPES)}
        self.gradients = {f"Conv2D_{n}/W/gradient": 0.1 * value for n, value in enumerate(self.weights.values())}

    def summarize(self):
        self.writer.add_scalar("Loss", self.gpu.item(), self.step)
        self.writer.add_scalar("Accuracy", self.gpu.item(), self.step)
        if self.verbose >= 2:
            for tag, values in (self.weights | self.gradients).items():
                self.gpu.item()
                self.writer.add_histogram(tag, values, self.step)
                self.writer.add_scalar(tag + "/sparsity", float((values == 0).mean()), self.step)
        self.writer.flush()

    def fit(self, images, labels, batch_size):
        samples = 0
        while not over():
            order = numpy.random.permutation(len(images))
            for start in range(0, len(order), batch_size):
                chosen = order[start : start + batch_size]
                batch = torch.from_numpy(images[chosen]), torch.from_numpy(labels[chosen])
                self.gpu.copy(sum(part.nbytes for part in batch))
                self.gpu.launch(0.012, "train_op")
                self.step += 1
                self.summarize()
                samples += len(chosen)
                if over():
                    break
        return samples


def main():
    torch.set_num_threads(1)
    images, labels = numpy.zeros((5000, 80, 60, 1), numpy.float32), numpy.zeros((5000, 9), numpy.float32)
    with tempfile.TemporaryDirectory() as folder:
        model = DNN(tensorboard_verbose=0 if FIX else 2, tensorboard_dir=folder)
        done(model.gpu, model.fit(images, labels, 64))


if __name__ == "__main__":
    main()
