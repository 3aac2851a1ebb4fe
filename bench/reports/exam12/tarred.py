"""Large pictures of slides, several in an archive, come from a bucket in the cloud."""

# https://github.com/webdataset/webdataset/issues/267

import io
import queue
import tarfile
import threading
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

SHARDS, PER_SHARD, SIDE, BATCH, FETCH = 143, 56, 96, 4, 1.3


def archive(draw):
    """What `pipe:gsutil cat` gives for each address."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for picture in range(PER_SHARD):
            data = draw.integers(0, 255, (SIDE, SIDE, 3), dtype=numpy.uint8).tobytes()
            member = tarfile.TarInfo(f"{picture:05d}.raw")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


class WebDataset(IterableDataset):
    def __init__(self):
        self.bucket = archive(numpy.random.default_rng(0))

    def urls(self):
        worker = get_worker_info()
        while True:
            yield from range(worker.id, SHARDS, worker.num_workers)

    def fetch(self, url):
        time.sleep(FETCH)
        return self.bucket

    def opened(self):
        if not FIX:
            yield from (self.fetch(url) for url in self.urls())
        shards = queue.Queue(1)
        threading.Thread(target=lambda: [shards.put(self.fetch(url)) for url in self.urls()], daemon=True).start()
        while True:
            yield shards.get()

    def __iter__(self):
        for shard in self.opened():
            with tarfile.open(fileobj=io.BytesIO(shard)) as tar:
                for member in tar:
                    data = numpy.frombuffer(tar.extractfile(member).read(), numpy.uint8)
                    yield torch.from_numpy(data.reshape(SIDE, SIDE, 3).copy()).permute(2, 0, 1)


class Classifier:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0192, "resnet")
        self.gpu.launch(0.0383, "backward, sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=13 << 30), 0, 0
    model = Classifier(gpu)
    over()
    for images in DataLoader(WebDataset(), BATCH, num_workers=2, pin_memory=True):
        model.step(images)
        step, samples = step + 1, samples + len(images)
        if step % 20 == 0:
            print(f"batch {step}: loss {gpu.item():.4f}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
