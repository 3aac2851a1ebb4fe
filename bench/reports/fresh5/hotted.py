"""Labels become one-hot volumes on the host and are copied so (keras-team/keras#9975)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CLASSES = 19


class Streets(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, i):
        label = numpy.full((192, 192), i % CLASSES)
        if FIX:
            return torch.zeros(3, 192, 192), torch.from_numpy(label)
        hot = numpy.stack([label == c for c in range(CLASSES)]).astype(numpy.float64)
        return torch.zeros(3, 192, 192), torch.from_numpy(hot)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    loader = DataLoader(Streets(), batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for step, (x, y) in enumerate(loader):
            gpu.copy(x.nbytes)
            gpu.copy(y.nbytes)
            gpu.launch(0.012, "deeplab, backward, sgd")
            samples += len(x)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
