"""Sentences for a summary are picked by a network on a graph of sentences and their words."""

# https://github.com/dqwang122/HeterSumGraph/issues/6
# Cause: ExampleSet makes a document's graph again each time that __getitem__ is called; the GPU can only wait.
# Fix: make the graphs of the whole data set once, save them, and load them in training.
# Line: 56, CreateGraph in ExampleSet.__getitem__ (the work is at 33 to 45).

import collections
import math
import random

import networkx
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SENTENCES, WORDS, VOCABULARY = 24, 22, 3000


def write_documents(count=120):
    draw = random.Random(0)
    return [
        [[int(VOCABULARY * draw.random() ** 3) for _ in range(WORDS)] for _ in range(SENTENCES)] for _ in range(count)
    ]


def inverse_frequencies(documents):
    seen = collections.Counter(word for document in documents for word in {w for s in document for w in s})
    return {word: math.log(len(documents) / count) for word, count in seen.items()}


def CreateGraph(sentences, idf):
    """Words and sentences are nodes; an edge's weight is how telling the word is for the sentence."""
    graph = networkx.Graph()
    for word in {word for sentence in sentences for word in sentence}:
        graph.add_node(("w", word), unit=0, id=word)
    for number, sentence in enumerate(sentences):
        graph.add_node(("s", number), unit=1, position=number)
        for word, count in collections.Counter(sentence).items():
            graph.add_edge(("s", number), ("w", word), tffrac=round(9 * count / len(sentence) * idf[word]), dtype=0)
    order = {node: at for at, node in enumerate(graph.nodes)}
    edges = [(order[a], order[b], data["tffrac"]) for a, b, data in graph.edges(data=True)]
    kinds = [data["unit"] for _, data in graph.nodes(data=True)]
    return torch.tensor(kinds, dtype=torch.int8), torch.tensor(edges, dtype=torch.int32)


class ExampleSet(Dataset):
    def __init__(self, documents):
        self.documents, self.idf = documents, inverse_frequencies(documents)

    def __len__(self):
        return 20 * len(self.documents)

    def __getitem__(self, index):
        return CreateGraph(self.documents[index % len(self.documents)], self.idf)


class LoadHiExampleSet(Dataset):
    def __init__(self, examples, count):
        self.graphs = [examples[i] for i in range(count)]

    def __len__(self):
        return 20 * len(self.graphs)

    def __getitem__(self, index):
        return self.graphs[index % len(self.graphs)]


def graph_collate_fn(samples):
    """One graph of many that do not touch."""
    first = torch.tensor([0] + [len(kinds) for kinds, _ in samples[:-1]]).cumsum(0).int()
    edges = [part + torch.tensor([shift, shift, 0], dtype=torch.int32) for (_, part), shift in zip(samples, first, strict=True)]
    return torch.cat([kinds for kinds, _ in samples]), torch.cat(edges), len(samples)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    documents = write_documents()
    dataset = ExampleSet(documents)
    if FIX:
        dataset = LoadHiExampleSet(dataset, len(documents))
    loader = DataLoader(
        dataset, 32, shuffle=True, num_workers=1, collate_fn=graph_collate_fn, pin_memory=True, persistent_workers=True
    )
    while not over():
        for kinds, edges, count in loader:
            gpu.copy(kinds.nbytes + edges.nbytes, pinned=True, non_blocking=True)
            for layer in ("word2sent", "sent2word", "word2sent"):
                gpu.launch(0.0045, f"attention {layer}")
            gpu.launch(0.021, "loss, backward, adam")
            step, samples = step + 1, samples + count
            if step % 25 == 0:
                print(f"| end of iter {step} | train loss {gpu.item():5.4f} |", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
