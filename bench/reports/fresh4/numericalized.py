"""Examples are tokenised when their batch is asked for (stanford-oval/genienlp#47)."""

import random
import re

import torch
from common import FIX, done, over
from stoker.emulated import Device

WORDS = [f"word{n}" for n in range(3000)]
PIECE = re.compile(r"[a-z]+|\d")


class Numericalizer:
    def __init__(self):
        self.vocabulary, self.kept = {}, {}

    def encode_word(self, word):
        pieces = PIECE.findall(word.lower())
        return [self.vocabulary.setdefault(piece, len(self.vocabulary) + 1) for piece in pieces]

    def encode_single(self, text):
        ids = []
        for word in text.split():
            ids.extend(self.encode_word(word))
        return ids

    def encode_batch(self, texts):
        if FIX:
            encoded = [self.kept.get(text) or self.kept.setdefault(text, self.encode_single(text)) for text in texts]
        else:
            encoded = [self.encode_single(text) for text in texts]
        longest = max(len(ids) for ids in encoded)
        return torch.tensor([ids + [0] * (longest - len(ids)) for ids in encoded])


def make_examples(count=2000):
    draw = random.Random(0)
    return [" ".join(draw.choices(WORDS, k=draw.randint(80, 120))) for _ in range(count)]


class Iterator:
    """Batches of examples, endless."""

    def __init__(self, data, batch_size, numericalizer):
        self.data, self.batch_size, self.numericalizer = data, batch_size, numericalizer

    def __iter__(self):
        while True:
            order = random.sample(range(len(self.data)), len(self.data))
            for at in range(0, len(order), self.batch_size):
                texts = [self.data[i] for i in order[at:at + self.batch_size]]
                yield self.numericalizer.encode_batch(texts)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = torch.nn.Embedding(4000, 4)
    optimizer = torch.optim.Adam(model.parameters())
    for step, ids in enumerate(Iterator(make_examples(), 50, Numericalizer())):
        gpu.copy(ids.nbytes)
        loss = model(ids[:, :4]).square().mean()
        gpu.launch(0.004, "forward")
        optimizer.zero_grad()
        loss.backward()
        gpu.launch(0.008, "backward, step")
        optimizer.step()
        samples += len(ids)
        if step % 20 == 0:
            gpu.item()
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
