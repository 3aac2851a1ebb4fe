"""BLEU is computed in each forward pass of training (espnet/espnet#2013)."""

import math
from collections import Counter
from fractions import Fraction

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCABULARY = 5000


class Pairs(Dataset):
    """Frames of speech and the characters of its translation."""

    def __len__(self):
        return 3000

    def __getitem__(self, i):
        draw = torch.Generator().manual_seed(i)
        return torch.zeros(200, 83), torch.randint(1, VOCABULARY, (30 + i % 50,), generator=draw)


def pad(batch):
    speech, text = zip(*batch, strict=True)
    return torch.stack(speech), pad_sequence(text, batch_first=True, padding_value=-1)


def ngrams(tokens, n):
    return zip(*(tokens[i:] for i in range(n)), strict=False)


def modified_precision(reference, hypothesis, n):
    counts, seen = Counter(ngrams(hypothesis, n)), Counter(ngrams(reference, n))
    clipped = {ngram: min(count, seen[ngram]) for ngram, count in counts.items()}
    return Fraction(sum(clipped.values()), max(1, sum(counts.values())), _normalize=False)


def corpus_bleu(references, hypotheses):
    numerators, denominators, length = Counter(), Counter(), 0
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        for n in range(1, 5):
            precision = modified_precision(reference, hypothesis, n)
            numerators[n] += precision.numerator
            denominators[n] += precision.denominator
        length += len(reference) - len(hypothesis)
    if not numerators[4]:
        return 0.0
    brevity = 1.0 if length <= 0 else math.exp(-length / denominators[1])
    return brevity * math.exp(sum(math.log(numerators[n] / denominators[n]) for n in range(1, 5)) / 4)


class ErrorCalculator:
    """BLEU of what the decoder found likeliest, as a report with the loss."""

    def __init__(self, char_list):
        self.char_list = char_list

    def __call__(self, ys_hat, ys_pad):
        hypotheses, references = [], []
        for y_hat, y_true in zip(ys_hat.tolist(), ys_pad.tolist(), strict=True):
            length = y_true.index(-1) if -1 in y_true else len(y_true)
            hypotheses.append([self.char_list[i] for i in y_hat[:length]])
            references.append([self.char_list[i] for i in y_true[:length]])
        return 100 * corpus_bleu(references, hypotheses)


class E2E(torch.nn.Module):
    def __init__(self, char_list, gpu):
        super().__init__()
        self.gpu, self.error_calculator, self.bleu = gpu, ErrorCalculator(char_list), None

    def forward(self, xs_pad, ys_pad):
        self.gpu.copy(xs_pad.nbytes + ys_pad.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.02, "encoder, decoder, label smoothing loss")
        if not (FIX and self.training):
            self.gpu.item()  # ys_hat = pred_pad.argmax(dim=-1).cpu()
            ys_hat = torch.where(torch.rand(ys_pad.shape) < 0.7, ys_pad, 1).clamp(min=0)
            self.bleu = self.error_calculator(ys_hat, ys_pad)


def train(gpu, model, loader):
    samples = step = 0
    model.train()
    while not over():
        for xs_pad, ys_pad in loader:
            model(xs_pad, ys_pad)
            gpu.launch(0.035, "backward, noam")
            step, samples = step + 1, samples + len(ys_pad)
            if step % 20 == 0:
                print(f"step {step}: loss {gpu.item():.3f}, bleu {model.bleu}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu, chars = Device(spin=False), [f"<{n}>" for n in range(VOCABULARY)]
    loader = DataLoader(Pairs(), 96, shuffle=True, collate_fn=pad, num_workers=1, pin_memory=True, persistent_workers=True)
    done(gpu, train(gpu, E2E(chars, gpu), loader))


if __name__ == "__main__":
    main()
