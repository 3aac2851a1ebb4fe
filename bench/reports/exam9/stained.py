"""Slides of tissue are classified from the features of their patches; a slide's features are a table of text."""

# https://github.com/binli123/dsmil-wsi/issues/90
# Cause: in each step the table of a slide is read as text, made numbers and a tensor, and moved to the device.
# Fix: go through all tables once and save tensors (torch.save); training loads those.
# Line: 35 to 43, 55, 81: load_bag in train, get_bag_feats below it.

import csv
import random
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

SLIDES, FEATURES = 24, 256


def compute_feats(folder):
    """A table of each slide: a row for each patch."""
    draw, bags = numpy.random.default_rng(0), []
    for slide in range(SLIDES):
        path = f"{folder}/slide_{slide}.csv"
        rows = draw.normal(size=(int(draw.integers(60, 140)), FEATURES)).astype(numpy.float32)
        numpy.savetxt(path, rows, delimiter=",", fmt="%.8f", header=",".join(str(f) for f in range(FEATURES)), comments="")
        bags.append((path, slide % 2))
    return bags


def shuffle_rows(table):
    return table[numpy.random.permutation(len(table))]


def get_bag_feats(path, label):
    with open(path, newline="") as file:
        reader = csv.reader(file)
        next(reader)
        table = numpy.array([[float(number) for number in row] for row in reader])
    table = shuffle_rows(table)
    target = numpy.zeros(2)
    target[label] = 1
    return torch.from_numpy(table).float(), torch.from_numpy(target).float()


def save_tensors(bags):
    for path, label in bags:
        torch.save(get_bag_feats(path, label), path.replace(".csv", ".pt"))


def load_bag(path, label):
    if FIX:
        feats, target = torch.load(path.replace(".csv", ".pt"))
        return feats[torch.randperm(len(feats))], target
    return get_bag_feats(path, label)


def dropout_patches(feats, rate):
    kept = torch.rand(len(feats)) >= rate
    return feats[kept] if kept.any() else feats


class MILNet:
    """Scores of instances, and attention to the highest one."""

    def __init__(self, gpu):
        self.gpu = gpu

    def train_bag(self, feats, target):
        self.gpu.copy(feats.nbytes + target.nbytes)
        self.gpu.launch(0.0007, "instance classifier")
        self.gpu.launch(0.0011, "bag classifier, attention")
        self.gpu.launch(0.0029, "bce, backward, adam")
        return self.gpu.item()


def train(bags, milnet, epoch):
    random.shuffle(bags)
    total, done_with = 0.0, 0
    for i, (path, label) in enumerate(bags):
        feats, target = load_bag(path, label)
        total += milnet.train_bag(dropout_patches(feats, 0.1), target)
        done_with += 1
        if over():
            break
    print(f"Epoch [{epoch}/200] training bag [{i}/{len(bags)}] bag loss: {total / done_with:.4f}", flush=True)
    return done_with


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    milnet = MILNet(gpu)
    with tempfile.TemporaryDirectory() as folder:
        bags = compute_feats(folder)
        if FIX:
            save_tensors(bags)
        while not over():
            epoch += 1
            samples += train(bags, milnet, epoch)
        done(gpu, samples)


if __name__ == "__main__":
    main()
