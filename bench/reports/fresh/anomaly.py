"""Anomaly detection of autograd stays on for the whole training (GuyTevet/motion-diffusion-model#81)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Motions(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(32)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32), torch.nn.LayerNorm(32)

    def forward(self, x):
        return self.norm(x + self.second(torch.relu(self.first(x))))


class Trainer:
    def __init__(self, gpu):
        self.gpu = gpu
        self.model = torch.nn.Sequential(*[Block() for _ in range(24)])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def run_step(self, batch):
        self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        loss = self.model(batch).square().mean()
        self.gpu.launch(0.006, "forward, backward")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    torch.set_num_threads(1)
    torch.autograd.set_detect_anomaly(not FIX)
    trainer = Trainer(Device())
    loader = DataLoader(Motions(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        trainer.run_step(batch)
        samples += len(batch)
        if over():
            break
    done(trainer.gpu, samples)


if __name__ == "__main__":
    main()
