"""What shoppers buy next is learned from three streams of samples, a batch from each in turn."""

# https://github.com/mosaicml/streaming/pull/741

import threading
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset

STREAMS, SAMPLES, SHARD, BATCH, TICK = 3, 1024, 64, 64, 0.00045


class Shards:
    """Shards that lie on a local disk; whether one may be read is noted in memory and in a file with a lock."""

    def __init__(self):
        self.here = [True] * (SAMPLES // SHARD)

    def prepare(self, shard):
        time.sleep(TICK)
        self.here[shard] = True

    def ready(self, shard):
        while not self.here[shard]:
            time.sleep(TICK)


class Iteration:
    """One pass over the samples: where each thread is."""

    def __init__(self, ids):
        self.ids, self.ready_index, self.stopped = ids, 0, threading.Event()


class StreamingDataset(IterableDataset):
    def __init__(self, stream):
        self.shards, self.stream, self.row = Shards(), stream, torch.arange(96)

    def prepare_thread(self, it):
        """Shards of the samples to come are fetched, if they are missing."""
        for sample in it.ids:
            if FIX and it.stopped.is_set():
                return
            self.shards.prepare(sample // SHARD)

    def ready_thread(self, it):
        for sample in it.ids:
            self.shards.ready(sample // SHARD)
            it.ready_index += 1
        it.stopped.set()

    def __iter__(self):
        it = Iteration(torch.randperm(SAMPLES).tolist())
        threads = [threading.Thread(target=work, args=(it,)) for work in (self.prepare_thread, self.ready_thread)]
        for thread in threads:
            thread.start()
        for number, sample in enumerate(it.ids):
            while it.ready_index <= number:
                time.sleep(TICK)
            yield self.row + sample
        for thread in threads:
            thread.join()


class Recommender:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, rows, stream):
        self.gpu.copy(rows.nbytes)
        self.gpu.launch(0.0015, f"towers, head {stream}")
        self.gpu.launch(0.0031, "backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False, memory_used=31 << 30), 0, 0
    model = Recommender(gpu)
    options = {"num_workers": 1, "persistent_workers": True, "prefetch_factor": 4}
    loaders = [DataLoader(StreamingDataset(stream), BATCH, **options) for stream in range(STREAMS)]
    while not over():
        for batches in zip(*loaders, strict=True):
            for stream, rows in enumerate(batches):
                model.train_step(rows, stream)
                samples += len(rows)
        epoch += 1
        print(f"epoch {epoch} loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
