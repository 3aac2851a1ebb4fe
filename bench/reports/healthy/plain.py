"""A plain loop whose two workers are faster than the device."""

import torch
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32), i % 10


def main():
    gpu = Device()
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Pictures(), batch_size=16, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)
    samples = 0
    for x, _ in loader:
        gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        model(torch.zeros(2, 8)).sum().backward()
        gpu.launch(0.06, "forward, backward")
        optimizer.step()
        samples += len(x)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
