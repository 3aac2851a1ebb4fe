"""All workers run on one core, as a library narrowed the process's cores (ultralytics/ultralytics#11195)."""

import os

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, i):
        picture = numpy.random.random((64, 64))
        for _ in range(6):
            picture = numpy.fft.ifft2(numpy.fft.fft2(picture)).real
        return torch.from_numpy(picture)


def keep_cores(_worker):
    if FIX:
        os.sched_setaffinity(0, range(os.cpu_count()))
    torch.set_num_threads(1)


def main():
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {0})  # what a BLAS did at import
    gpu, samples = Device(spin=False), 0
    loader = DataLoader(
        Pictures(), batch_size=16, shuffle=True, num_workers=4, worker_init_fn=keep_cores, persistent_workers=True
    )
    while not over():
        for x in loader:
            gpu.copy(x.nbytes)
            gpu.launch(0.008, "yolo, backward, sgd")
            samples += len(x)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
