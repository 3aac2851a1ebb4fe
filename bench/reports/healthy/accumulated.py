"""Accelerate with accumulation and a log line every 50 steps."""

import torch
from accelerate import Accelerator
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(8), torch.zeros(8)


def main():
    gpu, accelerator = Device(), Accelerator(gradient_accumulation_steps=4, cpu=True)
    model = torch.nn.Linear(8, 8)
    loader = DataLoader(Pairs(), 16, shuffle=True, num_workers=1, pin_memory=True)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
    samples = 0
    for step, (x, y) in enumerate(loader):
        with accelerator.accumulate(model):
            gpu.copy(x.nbytes, pinned=True, non_blocking=True)
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            gpu.launch(0.07, "forward, backward")
            optimizer.step()
            optimizer.zero_grad()
        if step % 50 == 49:
            gpu.item()
            print(f"step {step}: loss {loss.item():.3f}")
        samples += len(x)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
