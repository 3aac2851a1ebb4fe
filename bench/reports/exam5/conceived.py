"""Birds by way of concepts: a bottleneck of 112 attributes before the class."""

import torch
import torch.nn.functional as F
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, Dataset


class CUB(Dataset):
    def __len__(self):
        return 6400

    def __getitem__(self, i):
        return {
            "features": torch.full((3, 64, 64), i % 7, dtype=torch.float32),
            "labels": torch.tensor(i % 200),
            "concepts": torch.arange(112) % 2,
        }


class CBLoss(nn.Module):
    """Cross entropy of the class, and of each concept."""

    def __init__(self, gpu, num_concepts=112, alpha=1.0):
        super().__init__()
        self.gpu, self.num_concepts, self.alpha = gpu, num_concepts, alpha

    def concept_loss(self, predicted, true):
        if FIX:
            for name in ("clamp", "binary cross entropy", "mean"):
                self.gpu.launch(0.00002, name)
            return F.binary_cross_entropy(predicted, true.float(), reduction="none").mean(0).sum()
        loss = 0
        for concept in range(self.num_concepts):
            for name in ("select", "binary cross entropy", "mean", "add"):
                self.gpu.launch(0.000004, name)
            each = F.binary_cross_entropy(predicted[:, concept], true[:, concept].float(), reduction="mean")
            loss = loss + each
        return loss

    def forward(self, predicted, true, logits, target):
        concepts = self.alpha * self.concept_loss(predicted, true)
        self.gpu.launch(0.00003, "cross entropy")
        classes = F.cross_entropy(logits, target)
        return classes, concepts, classes + concepts


class CBM(nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu = gpu
        self.concepts, self.head = nn.Linear(16, 112), nn.Linear(112, 200)

    def forward(self, features):
        self.gpu.launch(0.0021, "resnet")
        h = features[:, 0, 0, :16]
        concepts = torch.sigmoid(self.concepts(h))
        self.gpu.launch(0.00005, "concepts, head")
        return concepts, self.head(concepts)


def backward(gpu, loss, terms):
    loss.backward()
    for _ in range(terms):
        gpu.launch(0.000004, "backward of a term")
    gpu.launch(0.0042, "backward")


def train_one_epoch(gpu, model, criterion, optimizer, loader, epoch):
    samples = 0
    for k, batch in enumerate(loader):
        features, target, concepts = batch["features"], batch["labels"], batch["concepts"]
        gpu.copy(sum(value.nbytes for value in batch.values()), pinned=True, non_blocking=True)
        predicted, logits = model(features)
        _, _, loss = criterion(predicted, concepts, logits, target)
        optimizer.zero_grad()
        backward(gpu, loss, 4 if FIX else 3 * criterion.num_concepts)
        optimizer.step()
        gpu.launch(0.0004, "adam")
        samples += len(features)
        if k % 50 == 0:
            print(f"epoch {epoch}, batch {k}: loss {gpu.item():.3f}", flush=True)
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    model, criterion, samples, epoch = CBM(gpu), CBLoss(gpu), 0, 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=True)
    loader = DataLoader(CUB(), 64, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        samples += train_one_epoch(gpu, model, criterion, optimizer, loader, epoch)
        epoch += 1
    done(gpu, samples)


if __name__ == "__main__":
    main()
