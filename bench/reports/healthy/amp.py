"""Mixed precision with a scaler, which reads the device in each step while it has work queued."""

import torch
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32)


def main():
    gpu, model = Device(spin=False), torch.nn.Linear(8, 8)
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cpu")
    loader = DataLoader(Pictures(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for x in loader:
        gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(torch.zeros(2, 8)).sum()
        gpu.launch(0.09, "forward, backward")
        scaler.scale(loss).backward()
        gpu.item()  # whether a gradient overflowed
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        samples += len(x)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
