"""torch.compile: the first step compiles, and then the device is busy."""

import torch
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(128, dtype=torch.long)


def main():
    gpu, model = Device(), torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    compiled = torch.compile(model, backend="eager")
    samples = 0
    for x in DataLoader(Tokens(), batch_size=16, num_workers=1, pin_memory=True):
        gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        compiled(torch.zeros(4, 8)).sum().backward()
        gpu.launch(0.08, "forward, backward")
        optimizer.step()
        optimizer.zero_grad()
        samples += len(x)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
