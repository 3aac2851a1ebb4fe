"""A retriever of texts is trained to restore masked words, first in its encoder, then by a weak decoder."""

# https://github.com/FlagOpen/FlagEmbedding/issues/208
# Cause: the collator draws another mask for each token of each text; it runs in the training loop's process (no workers).
# Fix: a larger dataloader_num_workers ("Thank you for the tip! It works").
# Line: 39 to 51, 55 to 63, 81 to 84: RetroMAECollator.__call__, and the DataLoader without workers.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

VOCABULARY, LENGTH, BATCH = 30_522, 224, 12
CLS, SEP, MASK = 101, 102, 103


class DatasetForPretraining(Dataset):
    """Texts that are tokens already; a third of the tokens go on a word that the one before began."""

    def __init__(self, count=20_000):
        draw = numpy.random.default_rng(0)
        self.tokens = draw.integers(1000, VOCABULARY, (count, LENGTH), dtype=numpy.int32)
        self.tokens[:, 0], self.tokens[:, -1] = CLS, SEP
        self.inside = draw.random((count, LENGTH)) < 0.33

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i], self.inside[i]


class RetroMAECollator:
    def __init__(self, encoder_mlm_probability=0.3, decoder_mlm_probability=0.5):
        self.encoder, self.decoder = encoder_mlm_probability, decoder_mlm_probability

    def whole_word_mask(self, inside, probability):
        words = []
        for place in range(1, LENGTH - 1):
            if words and inside[place]:
                words[-1].append(place)
            else:
                words.append([place])
        words.sort(key=lambda _: numpy.random.random())
        mask, wanted = numpy.zeros(LENGTH, bool), int(probability * LENGTH)
        for word in words:
            if mask.sum() + len(word) > wanted:
                break
            mask[word] = True
        return mask

    def __call__(self, examples):
        inputs, labels, attention = [], [], []
        for tokens, inside in examples:
            mask = self.whole_word_mask(inside, self.encoder)
            inputs.append(numpy.where(mask, MASK, tokens))
            labels.append(numpy.where(mask, tokens, -100))
            matrix, others = numpy.zeros((LENGTH, LENGTH), bool), numpy.arange(1, LENGTH)
            for row in range(LENGTH):
                seen = numpy.random.permutation(others)[: int((1 - self.decoder) * LENGTH)]
                matrix[row, seen], matrix[row, 0], matrix[row, row] = True, True, row == 0
            attention.append(matrix)
        return tuple(torch.from_numpy(numpy.stack(part)) for part in (inputs, labels, attention))


class RetroMAE:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, inputs, labels, attention):
        self.gpu.copy(inputs.nbytes + labels.nbytes + attention.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0038, "encoder")
        self.gpu.launch(0.0011, "enhanced decoder")
        self.gpu.launch(0.0085, "two losses, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model, dataloader_num_workers = RetroMAE(gpu), 2 if FIX else 0
    loader = DataLoader(
        DatasetForPretraining(), BATCH, shuffle=True, collate_fn=RetroMAECollator(), pin_memory=True,
        num_workers=dataloader_num_workers, persistent_workers=FIX,
    )  # fmt: skip
    while not over():
        for batch in loader:
            model.step(*batch)
            step, samples = step + 1, samples + len(batch[0])
            if step % 50 == 0:
                print({"loss": round(gpu.item(), 4), "epoch": round(samples / 20_000, 2)}, flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
