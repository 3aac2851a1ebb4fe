"""Speech is recognised by a network whose recordings are files on slow storage; a cache keeps copies on the node's disk."""

# https://github.com/rwth-i6/returnn/issues/1548
# Cause: one lock for the whole folder of the cache: while a worker copies its file, all others that need another one wait.
# Fix: no lock of the folder: a lock for each file.
# Line: 37 to 41, 43 to 46, 48 to 54, 70: flock in FileCache._lock, taken in get_file; copied in _copy_file_if_needed.

import contextlib
import fcntl
import os
import tempfile
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

FILES, SEQUENCES, FRAMES, BATCH, WORKERS = 12, 96, 300, 8, 3
BYTES_PER_SECOND = 6e6  # what the file server gives to one reader


def write_hdfs(folder):
    draw = numpy.random.default_rng(0)
    for number in range(FILES):
        numpy.save(f"{folder}/part{number}.npy", draw.normal(size=(SEQUENCES, FRAMES, 40)).astype(numpy.float16))


class FileCache:
    """Copies of files on the local disk, which has room for a few."""

    def __init__(self, cache_directory):
        self.cache_directory = cache_directory

    @contextlib.contextmanager
    def _lock(self, name):
        path = f"{self.cache_directory}/{name if FIX else 'cache'}.lock"
        with open(path, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def get_file(self, src_filename):
        name = os.path.basename(src_filename)
        with self._lock(name):
            return self._copy_file_if_needed(src_filename, f"{self.cache_directory}/{os.getpid()}-{name}")

    def _copy_file_if_needed(self, src_filename, dst_filename):
        if not os.path.exists(dst_filename):
            with open(src_filename, "rb") as src, open(f"{dst_filename}.returnn-tmp", "wb") as dst:
                while block := src.read(1 << 18):
                    time.sleep(len(block) / BYTES_PER_SECOND)
                    dst.write(block)
            os.rename(f"{dst_filename}.returnn-tmp", dst_filename)
        return dst_filename

    def release(self, dst_filename):
        os.unlink(dst_filename)


class DistributeFilesDataset(IterableDataset):
    """Each worker has some of the files; a sub-epoch takes one of them."""

    def __init__(self, folder, cache):
        self.files, self.cache = [f"{folder}/part{number}.npy" for number in range(FILES)], cache

    def __iter__(self):
        worker = get_worker_info()
        for path in self.files[worker.id :: worker.num_workers]:
            copy = self.cache.get_file(path)
            features = numpy.load(copy, mmap_mode="r")
            for start in range(0, SEQUENCES, BATCH):
                yield torch.from_numpy(features[start : start + BATCH].astype(numpy.float32))
            self.cache.release(copy)


class Conformer:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, features):
        self.gpu.copy(features.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.005, "conformer")
        self.gpu.launch(0.009, "ctc, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as server, tempfile.TemporaryDirectory() as local:
        write_hdfs(server)
        dataset, engine = DistributeFilesDataset(server, FileCache(local)), Conformer(gpu)
        loader = DataLoader(dataset, None, num_workers=WORKERS, pin_memory=True, persistent_workers=True)
        while not over():
            for features in loader:
                engine.train_step(features)
                step, samples = step + 1, samples + len(features)
                if step % 50 == 0:
                    print(f"ep 1 train, step {step}, ctc {gpu.item():.3f}, num_seqs {len(features)}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
