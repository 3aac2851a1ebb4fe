"""What changed between two views from the air: a siamese network, scored at each step of training."""

# https://github.com/ViTAE-Transformer/RSP/pull/20
# Cause: each step brings the predictions to the CPU and scores them there as scikit-learn does.
# Fix: score on the device with torchmetrics, and read once an epoch.
# Line: 65 to 67, .cpu() and precision_recall_fscore in train (the work is at 25 to 30).

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __len__(self):
        return 1200

    def __getitem__(self, i):
        view = torch.full((3, 192, 192), i / 1200)
        return view, view, (torch.arange(192 * 192).view(192, 192) % 17 == i % 17).long()


def confusion_matrix(truth, guess, labels):
    present = numpy.unique(numpy.concatenate([truth, guess]))
    places = {label: at for at, label in enumerate(labels)}
    index = numpy.searchsorted(present, truth), numpy.searchsorted(present, guess)
    matrix = numpy.zeros((len(labels), len(labels)), numpy.int64)
    rows = numpy.array([places[label] for label in present])
    numpy.add.at(matrix, (rows[index[0]], rows[index[1]]), 1)
    return matrix


def precision_recall_fscore(truth, guess):
    matrix = confusion_matrix(truth, guess, [0, 1])
    right = matrix[1, 1]
    precision = right / max(matrix[:, 1].sum(), 1)
    recall = right / max(matrix[1].sum(), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


class SiameseUNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, first, second, labels):
        for tensor in (first, second, labels):
            self.gpu.copy(tensor.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.012, "encoder, twice")
        self.gpu.launch(0.006, "difference, decoder")
        return (labels + 1) % 2


def train(gpu, loader):
    model, samples, epoch = SiameseUNet(gpu), 0, 0
    while not over():
        scores = []
        for step, (first, second, labels) in enumerate(loader):
            predictions = model(first, second, labels)
            gpu.launch(0.032, "backward, adamw")
            if FIX:
                gpu.launch(0.0003, "stat scores")
            else:
                gpu.item()
                guess = predictions.cpu().numpy().flatten()
                truth = labels.cpu().numpy().flatten()
                scores.append(precision_recall_fscore(truth, guess))
            samples += len(labels)
            if step % 20 == 19:
                print(f"epoch {epoch} [{step + 1}/{len(loader)}] loss {gpu.item():.4f}", flush=True)
            if over():
                break
        found = [gpu.item()] * 3 if FIX else numpy.mean(scores, 0)
        print(f"epoch {epoch}: precision {found[0]:.3f}, recall {found[1]:.3f}, f1 {found[2]:.3f}", flush=True)
        epoch += 1
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(Pairs(), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
