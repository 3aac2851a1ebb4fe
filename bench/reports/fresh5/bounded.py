"""The loss measures distances to a border by SciPy in each step (JunMa11/SegLossOdyssey#42)."""

import numpy
import torch
from common import FIX, done, over
from scipy.ndimage import distance_transform_edt
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, i):
        mask = torch.zeros(128, 128)
        mask[20 + i % 40 : 90, 30:80] = 1
        return torch.zeros(128, 128), mask


def compute_dtm(masks):
    maps = numpy.zeros_like(masks)
    for b, mask in enumerate(masks):
        positive = mask.astype(bool)
        maps[b] = distance_transform_edt(positive) - distance_transform_edt(~positive)
    return maps


class BoundaryLoss:
    def __call__(self, outputs, masks):
        if FIX:
            return (outputs * masks).mean()
        return (outputs * torch.from_numpy(compute_dtm(masks.numpy()))).mean()


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model, criterion = torch.nn.Conv2d(1, 1, 1), BoundaryLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Scans(), batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for step, (x, masks) in enumerate(loader):
            gpu.copy(x.nbytes)
            gpu.launch(0.006, "forward")
            loss = criterion(model(x[:, None])[:, 0], masks)
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.01, "backward, step")
            optimizer.step()
            samples += len(x)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
