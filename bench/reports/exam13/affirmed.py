"""A tiny recogniser learns to tell yes from no in short recordings."""

# https://github.com/k2-fsa/icefall/pull/1215

import json
import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CUTS, TRAIN, VALID, BATCH, FRAMES = 4000, 128, 32, 8, 600


def write_manifest(path):
    """One line for each cut: where it is, and what is said in it."""
    with open(path, "w") as file:
        for cut in range(CUTS):
            supervision = {"id": f"{cut}", "start": 0.0, "duration": 6.3, "text": "NO YES " * 4, "language": "Hebrew"}
            features = {"type": "kaldi-fbank", "num_frames": FRAMES, "num_features": 23, "frame_shift": 0.01}
            line = {"id": f"0_1_{cut}", "duration": 6.3, "supervisions": [supervision], "features": features}
            file.write(json.dumps(line) + "\n")


class CutSet:
    """A manifest that is read when it is needed."""

    def __init__(self, path):
        self.path, self.cuts = path, None

    def __getitem__(self, i):
        if self.cuts is None:
            with open(self.path) as file:
                self.cuts = [json.loads(line) for line in file]
        return self.cuts[i % CUTS]


class K2SpeechRecognitionDataset(Dataset):
    def __init__(self, path, count):
        self.cuts, self.count = CutSet(path), count
        self.fbank = torch.from_numpy(numpy.random.default_rng(0).normal(size=(FRAMES, 23)).astype(numpy.float32))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.fbank, self.cuts[i]["supervisions"][0]["text"]


class Tdnn:
    def __init__(self, gpu):
        self.gpu = gpu

    def compute_loss(self, inputs, training):
        self.gpu.copy(inputs.nbytes)
        self.gpu.launch(0.0021, "tdnn, ctc over the lattice")
        if training:
            self.gpu.launch(0.0043, "backward, sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    model = Tdnn(gpu)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cuts_train.jsonl")
        write_manifest(path)
        options = {"batch_size": BATCH, "num_workers": 1, "persistent_workers": FIX}
        train_dl = DataLoader(K2SpeechRecognitionDataset(path, TRAIN), shuffle=True, **options)
        valid_dl = DataLoader(K2SpeechRecognitionDataset(path, VALID), **options)
        while not over():
            for inputs, _ in train_dl:
                model.compute_loss(inputs, training=True)
                samples += len(inputs)
            for inputs, _ in valid_dl:
                model.compute_loss(inputs, training=False)
            if epoch % 5 == 0:
                print(f"Epoch {epoch}, validation loss={gpu.item():.4g}, best valid epoch: {epoch}", flush=True)
            epoch += 1
        done(gpu, samples)


if __name__ == "__main__":
    main()
