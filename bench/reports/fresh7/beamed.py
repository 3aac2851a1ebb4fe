"""Key phrases of papers: every so many batches they are generated for all of the validation set."""

# https://github.com/memray/seq2seq-keyphrase-pytorch/issues/16
# Cause: validation searches by beams, one paper at a time, on the host: the GPU falls from 90 % to 3 % for so long
#        that training seemed to have stopped.
# Fix: validate on a small part of the set.
# Line: 46 to 62, SequenceGenerator.beam_search (called at 70, 91).

import heapq
import math

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

VOCABULARY, BEAM, LENGTH = 400, 24, 6


class Papers(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.full((150,), i % VOCABULARY), torch.full((6,), i % VOCABULARY)


class Model:
    def __init__(self, gpu):
        self.gpu = gpu
        self.logits = torch.log_softmax(torch.rand(VOCABULARY, VOCABULARY) * 4, -1)

    def next(self, words):
        self.gpu.launch(0.0004, "gru, attention, copy")
        self.gpu.item()
        return self.logits[words]


class SequenceGenerator:
    def __init__(self, model):
        self.model = model

    def beam_search(self, paper):
        beams, complete = [(0.0, [int(paper[0])])], []
        for _ in range(LENGTH):
            chances, candidates = self.model.next(torch.tensor([words[-1] for _, words in beams])), []
            best, places = chances.topk(BEAM)
            for row, (score, words) in enumerate(beams):
                for chance, word in zip(best[row].tolist(), places[row].tolist(), strict=True):
                    sequence = [*words, word]
                    total = score + chance
                    heapq.heappush(candidates, (total, sequence))
                    if len(candidates) > BEAM:
                        heapq.heappop(candidates)
            beams = sorted(candidates, reverse=True)
            for score, words in beams:
                if words[-1] % 20 == 0:
                    complete.append((score / math.log(1 + len(words)), words[1:]))
        return heapq.nlargest(5, complete)


def evaluate_beam_search(generator, papers):
    """F-score at five."""
    right = found = 0
    for paper, phrase in papers:
        truth = set(phrase.tolist())
        for _, words in generator.beam_search(paper):
            right += bool(truth & set(words))
            found += 1
    return right / max(1, found)


def main():
    torch.set_num_threads(1)
    gpu, samples, batch = Device(spin=False), 0, 0
    model = Model(gpu)
    generator = SequenceGenerator(model)
    loader = DataLoader(Papers(4000), 10, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    valid = Papers(16 if FIX else 160)
    while not over():
        for papers, phrases in loader:
            gpu.copy(papers.nbytes + phrases.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.008, "encoder, decoder")
            gpu.launch(0.012, "backward, adam")
            samples, batch = samples + len(papers), batch + 1
            if batch % 60 == 0:
                loss = gpu.item()
                score = evaluate_beam_search(generator, [valid[i] for i in range(len(valid))])
                print(f"batch {batch}: loss {loss:.3f}, F {score:.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
