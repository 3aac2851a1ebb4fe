"""Workers are spawned for each epoch, and the data set's list is pickled to each (pytorch/pytorch#139792)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self):
        self.windows = [{"name": f"window-{n}", "bounds": (n, n + 1, n + 2, n + 3)} for n in range(60_000)]

    def __len__(self):
        return 24 * 60

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32) + self.windows[i]["bounds"][0]


def main():
    gpu = Device()
    loader = DataLoader(Windows(), batch_size=24, shuffle=True, num_workers=2, multiprocessing_context="spawn", persistent_workers=FIX, pin_memory=True)
    samples = 0
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.03, "step")
            samples += len(batch)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
