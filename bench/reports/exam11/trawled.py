"""Pages of the web are streamed from many files, shuffled in a buffer and packed for a language model."""

# https://github.com/huggingface/datasets/pull/8387

import copy
import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset

SHARDS, BUFFER, BATCH, LENGTH = 100, 1000, 16, 256


def copy_state(state):
    if isinstance(state, dict):
        return {key: copy_state(value) for key, value in state.items()}
    if isinstance(state, list):
        return [copy_state(value) for value in state]
    return state


class ArrowExamplesIterable:
    def __init__(self, shard):
        self.draw = random.Random(shard)
        self.state = {"shard_idx": shard, "shard_example_idx": 0, "type": "ArrowExamplesIterable"}

    def next(self):
        self.state["shard_example_idx"] += 1
        return self.draw.randrange(1 << 20)


class CyclingMultiSourcesExamplesIterable:
    """Takes a row of each file in turn."""

    def __init__(self):
        self.sources = [ArrowExamplesIterable(shard) for shard in range(SHARDS)]
        self.state = {
            "ex_iterable_idx": 0,
            "ex_iterables": [source.state for source in self.sources],
            "previous_states": [None] * SHARDS,
            "is_exhausted": [False] * SHARDS,
        }

    def state_dict(self):
        return copy_state(self.state) if FIX else copy.deepcopy(self.state)

    def __iter__(self):
        while True:
            at = self.state["ex_iterable_idx"]
            self.state["previous_states"][at] = dict(self.sources[at].state)
            row = self.sources[at].next()
            self.state["ex_iterable_idx"] = (at + 1) % SHARDS
            yield row


class BufferShuffledExamplesIterable(IterableDataset):
    def __init__(self):
        self.draw, self.tokens = random.Random(7), torch.arange(LENGTH * 8) % 32000

    def example(self, row):
        start = row % (LENGTH * 7)
        return self.tokens[start : start + LENGTH]

    def __iter__(self):
        source, buffer = CyclingMultiSourcesExamplesIterable(), []
        state = {"ex_iterable": source.state_dict(), "num_taken": 0}
        for row in source:
            state["ex_iterable"] = source.state_dict()
            if len(buffer) < BUFFER:
                buffer.append(row)
                continue
            at = self.draw.randrange(BUFFER)
            row, buffer[at] = buffer[at], row
            state["num_taken"] += 1
            yield self.example(row)


class Model:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, ids):
        self.gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(6):
            self.gpu.launch(0.00025, f"block {layer}")
        self.gpu.launch(0.0031, "loss, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = Model(gpu)
    over()
    loader = DataLoader(BufferShuffledExamplesIterable(), BATCH, num_workers=1, pin_memory=True)
    for ids in loader:
        model.step(ids)
        step, samples = step + 1, samples + len(ids)
        if step % 100 == 0:
            print(f"step {step} loss {gpu.item():.4f}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
