"""Mean average precision is computed over all images so far for each batch of validation (analogdevicesinc/ai8x-training#233)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from torchvision.ops import box_iou


class Faces(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        corners = torch.rand(8, 2)
        return torch.zeros(3, 64, 64), torch.cat([corners, corners + 0.2], dim=1)


class MeanAveragePrecision:
    def __init__(self):
        self.detections, self.truths = [], []

    def update(self, detections, truths):
        self.detections.extend(detections)
        self.truths.extend(truths)

    def compute(self):
        overlaps = [box_iou(found, wanted).amax(1) for found, wanted in zip(self.detections, self.truths, strict=True)]
        precisions = []
        for threshold in (0.5, 0.75):
            hits = torch.cat([overlap > threshold for overlap in overlaps])
            precisions.append((hits.cumsum(0) / torch.arange(1, len(hits) + 1)).mean())
        return torch.stack(precisions).mean()


@torch.no_grad()
def validate(gpu, loader):
    metric, precision = MeanAveragePrecision(), None
    for step, (images, boxes) in enumerate(loader):
        gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.006, "forward")
        gpu.item()
        metric.update(boxes + 0.05, boxes)
        if not FIX or step == len(loader) - 1:
            precision = metric.compute()
        if over():
            break
    return precision


def train(gpu, train_loader, val_loader):
    samples = 0
    while not over():
        for images, _ in train_loader:
            gpu.copy(images.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.012, "step")
            samples += len(images)
            if over():
                break
        gpu.synchronize(spin=False)
        validate(gpu, val_loader)
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device()
    train_loader = DataLoader(Faces(1600), 16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    val_loader = DataLoader(Faces(960), 16, num_workers=1, pin_memory=True, persistent_workers=True)
    done(gpu, train(gpu, train_loader, val_loader))


if __name__ == "__main__":
    main()
