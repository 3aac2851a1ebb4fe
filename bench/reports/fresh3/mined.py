"""Triplets are drawn for one anchor after the other, in NumPy (KevinMusgrave/pytorch-metric-learning#192)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

POINTS, OBJECTS = 400, 20


class Events(Dataset):
    """Points of a detector, each of one object."""

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.rand(POINTS, 8), torch.randint(OBJECTS, (POINTS,))


def get_random_triplet_indices(labels, t_per_anchor):
    a_idx, positive_idx, negative_idx = [], [], []
    labels = labels.numpy()
    indices = numpy.arange(len(labels))
    for i, label in enumerate(labels):
        all_pos_pair_mask = labels == label
        all_pos_pair_mask &= indices != i
        all_pos_pair_idx = numpy.where(all_pos_pair_mask)[0]
        if len(all_pos_pair_idx) == 0:
            continue
        possible_neg_idx = list(numpy.where(labels != label)[0])
        negative_idx += numpy.random.choice(possible_neg_idx, t_per_anchor, replace=True).tolist()
        positive_idx += numpy.random.choice(all_pos_pair_idx, t_per_anchor, replace=True).tolist()
        a_idx += [i] * t_per_anchor
    return torch.tensor(a_idx), torch.tensor(positive_idx), torch.tensor(negative_idx)


def get_triplet_indices_of_labels(labels, t_per_anchor):
    """The same, for all anchors of a label at once."""
    a_idx, positive_idx, negative_idx = [], [], []
    for label in labels.unique():
        inside, outside = (labels == label).nonzero()[:, 0], (labels != label).nonzero()[:, 0]
        if len(inside) < 2:
            continue
        anchors = torch.arange(len(inside)).repeat_interleave(t_per_anchor)
        moved = torch.randint(1, len(inside), (len(anchors),))
        a_idx.append(inside[anchors])
        positive_idx.append(inside[(anchors + moved) % len(inside)])
        negative_idx.append(outside[torch.randint(len(outside), (len(anchors),))])
    return torch.cat(a_idx), torch.cat(positive_idx), torch.cat(negative_idx)


class TripletMarginLoss(torch.nn.Module):
    def __init__(self, gpu, margin=0.05, triplets_per_anchor=1):
        super().__init__()
        self.gpu, self.margin, self.triplets_per_anchor = gpu, margin, triplets_per_anchor

    def forward(self, embeddings, labels):
        if FIX:
            self.gpu.launch(0.002, "nonzero, randint")
            a, p, n = get_triplet_indices_of_labels(labels, self.triplets_per_anchor)
        else:
            self.gpu.item()  # .cpu()
            a, p, n = get_random_triplet_indices(labels, self.triplets_per_anchor)
            self.gpu.copy(a.nbytes + p.nbytes + n.nbytes)
        ap = (embeddings[a] - embeddings[p]).norm(dim=1)
        an = (embeddings[a] - embeddings[n]).norm(dim=1)
        self.gpu.launch(0.001, "distances")
        return torch.relu(ap - an + self.margin).mean()


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    trunk, criterion = torch.nn.Linear(8, 8), TripletMarginLoss(gpu)
    optimizer = torch.optim.SGD(trunk.parameters(), lr=0.01)
    loader = DataLoader(Events(), batch_size=None, shuffle=True, num_workers=1, pin_memory=True)
    for step, (points, labels) in enumerate(loader):
        gpu.copy(points.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        embeddings = trunk(points)
        gpu.launch(0.006, "forward")
        loss = criterion(embeddings, labels)
        optimizer.zero_grad()
        loss.backward()
        gpu.launch(0.012, "backward")
        optimizer.step()
        samples += 1
        if step % 50 == 0:
            gpu.item()
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
