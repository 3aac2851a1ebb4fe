"""No workers, yet the loader's thread is hidden: the loop runs ahead of the device."""

import time

import torch
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Small(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        time.sleep(0.001)
        return torch.zeros(32)


def main():
    gpu, samples = Device(run_ahead=8), 0
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(8))], lr=0.1)
    for x in DataLoader(Small(), batch_size=16):
        gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.09, "forward, backward")
        optimizer.step()
        samples += len(x)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
