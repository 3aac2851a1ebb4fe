"""Sentences to vectors, for a search over texts in many languages."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.utils.rnn import pad_sequence


class NllbTokenizer:
    """A stand-in for a sentencepiece model: a number for each word."""

    def __init__(self, lang):
        self.lang = lang

    def encode(self, text):
        return torch.tensor([256_047, *(hash(word) % 256_000 for word in text.split()), 2])


class Collater:
    def __call__(self, ids):
        return {"seqs": pad_sequence(ids, batch_first=True), "seq_lens": torch.tensor([len(i) for i in ids])}


class SonarEncoder:
    """24 layers; what they cost goes with the size of what they are given."""

    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, batch):
        seqs = batch["seqs"]
        self.gpu.copy(seqs.nbytes)
        for layer in range(24):
            self.gpu.launch(4.5e-7 * seqs.numel(), f"layer {layer}")
        self.gpu.launch(0.0002, "mean")
        return torch.zeros(len(seqs), 64)


class TextToEmbeddingModelPipeline:
    def __init__(self, encoder, tokenizer):
        self.encoder, self.tokenizer, self.collate = encoder, tokenizer, Collater()

    def predict(self, sentences, batch_size=32):
        ids = [self.tokenizer.encode(sentence) for sentence in sentences]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i])) if FIX else list(range(len(ids)))
        rows = []
        for start in range(0, len(ids), batch_size):
            part = [ids[i] for i in order[start : start + batch_size]]
            rows.append(self.encoder(self.collate(part)))
        vectors = torch.empty(len(ids), 64)
        vectors[torch.tensor(order)] = torch.cat(rows)
        return vectors


def passages(count, seed=0):
    """Most are short, a few are long."""
    draw = random.Random(seed)
    words = ["gamma", "river", "et", "la", "house", "von", "neun", "sky", "to", "and"]
    return [" ".join(draw.choices(words, k=min(400, 6 + int(draw.lognormvariate(2.6, 0.9))))) for _ in range(count)]


def main():
    torch.set_num_threads(1)
    gpu, samples, shard = Device(spin=False), 0, 0
    pipeline = TextToEmbeddingModelPipeline(SonarEncoder(gpu), NllbTokenizer("eng_Latn"))
    corpus = [passages(512, seed) for seed in range(4)]
    while not over():
        vectors = pipeline.predict(corpus[shard % 4])
        gpu.synchronize()
        samples, shard = samples + len(vectors), shard + 1
        print(f"shard {shard}: {samples} sentences", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
