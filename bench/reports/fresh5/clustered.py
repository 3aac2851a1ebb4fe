"""Features of all pictures are clustered on the host before each epoch (facebookresearch/deepcluster#11)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count=3200):
        self.labels = torch.zeros(count, dtype=torch.int64)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.zeros(64), self.labels[i]


class Kmeans:
    def __init__(self, k):
        self.k = k

    def run_kmeans(self, features, iterations):
        centres = features[: self.k].copy()
        for _ in range(iterations):
            distances = ((features[:, None, :] - centres[None]) ** 2).sum(-1)
            nearest = distances.argmin(1)
            for k in range(self.k):
                if (nearest == k).any():
                    centres[k] = features[nearest == k].mean(0)
        return nearest


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    data, clustering = Pictures(), Kmeans(20)
    model = torch.nn.Linear(64, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=1, pin_memory=True)
    draw = numpy.random.default_rng(0)
    while not over():
        features = draw.random((3200, 64), numpy.float32)  # of a pass through the network
        nearest = clustering.run_kmeans(features, 1 if FIX else 12)
        data.labels = torch.from_numpy(nearest)
        for x, _y in loader:
            gpu.copy(x.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.004, "forward")
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.008, "backward, step")
            optimizer.step()
            samples += len(x)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
