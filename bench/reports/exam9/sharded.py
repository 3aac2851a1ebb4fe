"""Pictures with captions are streamed from a hub's files and shuffled on the way; a contrastive network trains on them."""

# https://github.com/huggingface/datasets/issues/8669
# Cause: shuffle() wraps all files in as many sources as its buffer reads from, and says that there is one shard: worker 0 gets
#        all data, the others none.
# Fix: let the buffer read from one source (max_buffer_input_shards=1): each worker has its own files.
# Line: 38 to 43, 49 to 51, 54 to 55, 71 to 76, 80: num_shards, as ImageTextStream makes it; the wait is in ParquetFiles.

import random
import time

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

FILES, ROWS, BATCH, WORKERS = 9, 240, 16, 3
SECONDS_PER_GROUP, GROUP = 0.024, 8


class ParquetFiles:
    """Groups of rows, each asked of the hub; nothing is kept."""

    def __init__(self, names):
        self.names, self.num_shards = names, len(names)
        draw = numpy.random.default_rng(0)
        noise = cv2.GaussianBlur(draw.integers(0, 255, (96, 192, 3), dtype=numpy.uint8), (0, 0), 3)
        self.pictures = [cv2.imencode(".jpg", noise[:, v : v + 96])[1] for v in range(40)]

    def shard_data_sources(self, index, num_shards):
        part = ParquetFiles.__new__(ParquetFiles)
        part.names, part.pictures = self.names[index::num_shards], self.pictures
        part.num_shards = len(part.names)
        return part

    def __iter__(self):
        for name in self.names:
            for row in range(0, ROWS, GROUP):
                time.sleep(SECONDS_PER_GROUP)
                for offset in range(GROUP):
                    yield self.pictures[(7 * name + row + offset) % 40], f"caption {name}-{row + offset}"


class CyclingMultiSourcesExamplesIterable:
    """Takes from its sources in turn; has as many shards as the source that has the fewest."""

    def __init__(self, sources):
        self.sources = sources
        self.num_shards = min((source.num_shards for source in sources), default=0)

    def shard_data_sources(self, index, num_shards):
        if index >= self.num_shards:
            return CyclingMultiSourcesExamplesIterable([])
        parts = [source.shard_data_sources(index, min(num_shards, source.num_shards)) for source in self.sources]
        return CyclingMultiSourcesExamplesIterable(parts)

    def __iter__(self):
        iterators = [iter(source) for source in self.sources]
        while iterators:
            for iterator in list(iterators):
                example = next(iterator, None)
                if example is None:
                    iterators.remove(iterator)
                else:
                    yield example


class ImageTextStream(IterableDataset):
    def __init__(self, buffer_size=64, max_buffer_input_shards=1 if FIX else 10):
        self.buffer_size, files = buffer_size, ParquetFiles(list(range(FILES)))
        self.source = files
        if max_buffer_input_shards > 1:
            sources = min(max_buffer_input_shards, FILES)
            self.source = CyclingMultiSourcesExamplesIterable([files.shard_data_sources(i, sources) for i in range(sources)])

    def __iter__(self):
        worker, draw, buffer = get_worker_info(), random.Random(0), []
        for example in self.source.shard_data_sources(worker.id, worker.num_workers):
            if len(buffer) < self.buffer_size:
                buffer.append(example)
                continue
            place = draw.randrange(len(buffer))
            yield self.transform(*buffer[place])
            buffer[place] = example
        yield from (self.transform(*example) for example in buffer)

    @staticmethod
    def transform(picture, caption):
        image = cv2.imdecode(picture, cv2.IMREAD_COLOR)
        return torch.from_numpy(image).permute(2, 0, 1).contiguous(), torch.tensor(list(caption.ljust(24).encode()))


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    loader = DataLoader(ImageTextStream(), BATCH, num_workers=WORKERS, pin_memory=True, persistent_workers=True)
    while not over():
        for images, texts in loader:
            gpu.copy(images.nbytes + texts.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.006, "image tower, text tower")
            gpu.launch(0.012, "clip loss, backward, adamw")
            step, samples = step + 1, samples + len(texts)
            if step % 50 == 0:
                print(f"Train Epoch: 0 [{samples}] Contrastive_loss: {gpu.item():.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
