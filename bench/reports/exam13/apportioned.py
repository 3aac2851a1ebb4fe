"""A robot's policy learns from recordings that are streamed from a hub, file by file."""

# https://github.com/huggingface/lerobot/pull/3781

import os
import pickle
import random
import tempfile
import time
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

FILES, FRAMES, SIDE, BATCH, WORKERS, NUM_SHARDS, REQUEST = 8, 120, 96, 16, 2, 8, 0.0022


def record(folder):
    """Files with frames of a camera, packed one by one."""
    slope, names = numpy.add.outer(numpy.arange(SIDE), numpy.arange(SIDE)), []
    for file in range(FILES):
        frames = [zlib.compress(numpy.stack([slope + i + file] * 3).astype(numpy.uint8).tobytes()) for i in range(20)]
        names.append(os.path.join(folder, f"file-{file:03d}.parquet"))
        with open(names[-1], "wb") as out:
            pickle.dump(frames, out)
    return names


class HFIterableDataset:
    """Some files; in a loader's worker only those that are the worker's own."""

    def __init__(self, files):
        self.files = files

    def __iter__(self):
        info = get_worker_info()
        for name in self.files[info.id :: info.num_workers]:
            with open(name, "rb") as file:
                frames = pickle.load(file)
            for i in range(FRAMES):
                time.sleep(REQUEST)
                yield numpy.frombuffer(zlib.decompress(frames[i % len(frames)]), numpy.uint8)


class StreamingLeRobotDataset(IterableDataset):
    """Mixes several shards, a frame of this one and a frame of that one."""

    def __init__(self, files):
        self.files = files
        self.num_shards = max(1, min(NUM_SHARDS, len(files) // WORKERS)) if FIX else NUM_SHARDS

    def __iter__(self):
        shards = [iter(HFIterableDataset(self.files[s :: self.num_shards])) for s in range(self.num_shards)]
        while shards:
            shard = random.choice(shards)
            try:
                yield torch.from_numpy(next(shard).reshape(3, SIDE, SIDE).copy())
            except StopIteration:
                shards.remove(shard)


class ACTPolicy:
    def __init__(self, gpu):
        self.gpu = gpu

    def update(self, frames):
        self.gpu.copy(frames.nbytes)
        self.gpu.launch(0.0046, "resnet, transformer")
        self.gpu.launch(0.0098, "backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=7 << 30), 0, 0
    policy = ACTPolicy(gpu)
    with tempfile.TemporaryDirectory() as folder:
        dataset = StreamingLeRobotDataset(record(folder))
        loader = DataLoader(dataset, BATCH, num_workers=WORKERS, persistent_workers=True)
        while not over():
            for frames in loader:
                policy.update(frames)
                step, samples = step + 1, samples + len(frames)
                if step % 50 == 0:
                    print(f"step:{step} smpl:{samples} loss:{gpu.item():.3f} lr:1.0e-05", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
