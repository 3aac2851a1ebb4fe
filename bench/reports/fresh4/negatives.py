"""Negatives of a contrastive loss are drawn on the CPU within the forward pass (facebookresearch/fairseq#4856)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NEGATIVES, STEPS = 100, 120


class Speech(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(STEPS, 32)


class Wav2Vec2(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.project = gpu, torch.nn.Linear(4, 4)

    def sample_negatives(self, y):
        bsz, tsz, _ = y.shape
        if FIX:
            self.gpu.launch(0.001, "arange, randint, where")
            return y[:, :1]
        tszs = torch.arange(tsz).unsqueeze(-1).expand(-1, NEGATIVES).flatten()
        neg_idxs = torch.randint(low=0, high=tsz - 1, size=(bsz, NEGATIVES * tsz))
        neg_idxs[neg_idxs >= tszs] += 1
        for i in range(1, bsz):
            neg_idxs[i] += i * tsz
        self.gpu.copy(neg_idxs.nbytes)
        return y[:, :1]

    def forward(self, x):
        self.gpu.launch(0.006, "encoder")
        negatives = self.sample_negatives(x)
        self.gpu.launch(0.003, "similarity")
        return self.project(x[:, 0, :4]).square().mean() + negatives.sum()


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = Wav2Vec2(gpu)
    optimizer = torch.optim.Adam(model.parameters())
    for step, x in enumerate(DataLoader(Speech(), batch_size=32, num_workers=1, pin_memory=True)):
        gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        loss = model(x)
        optimizer.zero_grad()
        loss.backward()
        gpu.launch(0.012, "backward")
        optimizer.step()
        samples += len(x)
        if step % 50 == 0:
            gpu.item()
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
