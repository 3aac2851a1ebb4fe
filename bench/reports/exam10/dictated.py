"""Speech becomes text by an encoder and a decoder with attention; after each epoch it is read back with a beam search."""

# https://github.com/speechbrain/speechbrain/issues/359
# Cause: validation decodes with a beam search and a language model: 14.5 minutes after 1.5 minutes of training; the search is
#        Python between small kernels.
# Fix: no beam search in validation (greedy).
# Line: 38 to 41, 44 to 54, 83, 100: S2SRNNBeamSearchLM.__call__, called in ASR.evaluate.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PIECES, BEAM, TOP, STEPS, BATCH, TRAIN, VALID = 1000, 12, 8, 28, 8, 480, 48


class LibriSpeech(Dataset):
    def __init__(self, count):
        self.count, draw = count, numpy.random.default_rng(0)
        self.features = torch.zeros(300, 80)
        self.targets = torch.from_numpy(draw.integers(1, PIECES, (count, STEPS)))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.features, self.targets[i]


class S2SRNNBeamSearchLM:
    """The best beginnings of a sentence go on with their best pieces; a language model has a say."""

    def __init__(self, gpu):
        self.gpu, self.draw = gpu, numpy.random.default_rng(1)

    def scores(self):
        self.gpu.launch(0.00011, "attention, gru, log softmax")
        self.gpu.launch(0.00016, "language model")
        self.gpu.item()
        return numpy.log(self.draw.dirichlet(numpy.full(TOP, 0.5), BEAM) + 1e-9), self.draw.integers(1, PIECES, (BEAM, TOP))

    def __call__(self, sentence):
        beams = [((), 0.0)]
        for _ in range(STEPS):
            logs, pieces = self.scores()
            candidates = {}
            for row, (prefix, score) in enumerate(beams):
                for log, piece in zip(logs[row], pieces[row], strict=True):
                    new = prefix + (int(piece),)
                    covered = len(set(new)) / len(new)
                    candidates[new] = max(candidates.get(new, -1e9), score + float(log) + 0.1 * covered)
            beams = sorted(candidates.items(), key=lambda pair: pair[1] / len(pair[0]) ** 0.9, reverse=True)[:BEAM]
        return beams[0][0]


class S2SRNNGreedySearch:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, sentence):
        for _ in range(STEPS):
            self.gpu.launch(0.00011, "attention, gru, argmax")
        self.gpu.item()
        return tuple(int(piece) for piece in sentence)


class ASR:
    def __init__(self, gpu):
        self.gpu, self.search = gpu, (S2SRNNGreedySearch if FIX else S2SRNNBeamSearchLM)(gpu)

    def fit_batch(self, features, targets):
        self.gpu.copy(features.nbytes + targets.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0088, "crdnn encoder")
        self.gpu.launch(0.0232, "decoder, ctc, nll, backward, adadelta")

    def evaluate(self, loader):
        errors = words = 0
        for features, targets in loader:
            self.gpu.copy(features.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.0088, "crdnn encoder")
            for sentence in targets:
                hypothesis = self.search(sentence)
                errors += sum(a != b for a, b in zip(hypothesis, sentence.tolist(), strict=True))
                words += len(sentence)
        return 100 * errors / words


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    asr, options = ASR(gpu), {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train = DataLoader(LibriSpeech(TRAIN), BATCH, shuffle=True, **options)
    valid = DataLoader(LibriSpeech(VALID), BATCH, **options)
    while not over():
        for features, targets in train:
            asr.fit_batch(features, targets)
            samples += len(targets)
        epoch += 1
        print(f"epoch: {epoch} - train loss: 1.24 - valid WER: {asr.evaluate(valid):.2f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
