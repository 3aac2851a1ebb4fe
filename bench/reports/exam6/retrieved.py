"""A network that finds the same person again: pairs of one batch are weighed by how alike they are."""

# https://github.com/jixunbo/LightMBN/pull/33
# Cause: the multi-similarity loss goes over rows in Python, with Python's min and max over tensors: a great many small
#        operations, each of which waits for the GPU.
# Fix: the loss rewritten with masks over the whole matrix; training was 10 times as fast.
# Line: 39 to 54 and 63 to 70, MultiSimilarityLoss.forward with walk.

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, Dataset

PEOPLE, SHOTS, WIDTH = 24, 4, 128


class Market(Dataset):
    """Batches of some pictures of some people."""

    def __len__(self):
        return 200

    def __getitem__(self, i):
        return torch.full((PEOPLE * SHOTS, 3, 64, 32), 0.5), torch.arange(PEOPLE).repeat_interleave(SHOTS)


class MultiSimilarityLoss(nn.Module):
    def __init__(self, gpu, thresh=0.5, margin=0.1, scale_pos=2.0, scale_neg=40.0):
        super().__init__()
        self.gpu, self.thresh, self.margin, self.scale_pos, self.scale_neg = gpu, thresh, margin, scale_pos, scale_neg

    def picked(self, values, mask):
        """Choosing by a mask: how many there are is known once the GPU has counted."""
        self.gpu.launch(5e-6, "nonzero")
        self.gpu.item()
        return values[mask]

    def forward(self, features, labels):
        sim_mat, loss = features @ features.T, []
        self.gpu.launch(2e-5, "matmul")
        for i in range(len(features)):
            pos_pair_ = self.picked(sim_mat[i], labels == labels[i])
            pos_pair_ = self.picked(pos_pair_, pos_pair_ < 1 - 1e-5)
            neg_pair_ = self.picked(sim_mat[i], labels != labels[i])
            neg_pair = self.picked(neg_pair_, neg_pair_ + self.margin > self.least(pos_pair_))
            pos_pair = self.picked(pos_pair_, pos_pair_ - self.margin < self.most(neg_pair_))
            if len(neg_pair) < 1 or len(pos_pair) < 1:
                continue
            pos_loss = 1 / self.scale_pos * torch.log(1 + torch.sum(torch.exp(-self.scale_pos * (pos_pair - self.thresh))))
            neg_loss = 1 / self.scale_neg * torch.log(1 + torch.sum(torch.exp(self.scale_neg * (neg_pair - self.thresh))))
            for _ in range(12):
                self.gpu.launch(3e-6, "elementwise")
            loss.append(pos_loss + neg_loss)
        return (sum(loss) + 0 * sim_mat.sum()) / len(features)

    def least(self, values):
        return self.walk(values, min)

    def most(self, values):
        return self.walk(values, max)

    def walk(self, values, chooses):
        """Python compares one by one, and asks the GPU each time."""
        best = values[0]
        for value in values[1:]:
            self.gpu.launch(3e-6, "compare")
            self.gpu.item()
            best = chooses(best, value)
        return best

    def masked(self, features, labels):
        sim_mat = features @ features.T
        same = labels[:, None] == labels[None]
        pos = same & (sim_mat < 1 - 1e-5)
        least = sim_mat.masked_fill(~pos, torch.inf).amin(1, keepdim=True)
        most = sim_mat.masked_fill(same, -torch.inf).amax(1, keepdim=True)
        pos, neg = pos & (sim_mat - self.margin < most), ~same & (sim_mat + self.margin > least)
        pos_loss = torch.log1p((torch.exp(-self.scale_pos * (sim_mat - self.thresh)) * pos).sum(1)) / self.scale_pos
        neg_loss = torch.log1p((torch.exp(self.scale_neg * (sim_mat - self.thresh)) * neg).sum(1)) / self.scale_neg
        for _ in range(24):
            self.gpu.launch(1e-5, "elementwise")
        return ((pos_loss + neg_loss) * (pos.any(1) & neg.any(1))).sum() / len(features)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    embedding = nn.Embedding(PEOPLE, WIDTH)
    criterion, optimizer = MultiSimilarityLoss(gpu), torch.optim.Adam(embedding.parameters(), lr=6e-4)
    loader = DataLoader(Market(), None, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, labels in loader:
            gpu.copy(images.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.012, "backbone, branches")
            features = nn.functional.normalize(embedding(labels) + 0.5 * torch.randn(len(labels), WIDTH))
            loss = criterion.masked(features, labels) if FIX else criterion(features, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            gpu.launch(0.024, "backward, adam")
            step, samples = step + 1, samples + len(labels)
            if step % 20 == 0:
                print(f"step {step}: loss {loss.item() + gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
