"""Boxes of each picture are decoded on the host while evaluating (kuangliu/torchcv#14)."""

import math

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

ANCHORS, PICTURES = 300, 40


class Boxes(Dataset):
    def __len__(self):
        return 32 * 60

    def __getitem__(self, i):
        return torch.zeros(3, 16, 16)


class SSD(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.head = gpu, torch.nn.Linear(16, 4)

    def forward(self, images):
        self.gpu.launch(0.0003 * len(images), "forward")
        return self.head(images[:, 0, 0])


class BoxCoder:
    def __init__(self):
        self.default_boxes = [(i % 20 / 20, i // 20 / 20, 0.1, 0.1) for i in range(ANCHORS)]

    def decode(self, loc_preds, cls_preds):
        boxes, labels, scores = [], [], []
        for anchor, loc, score in zip(self.default_boxes, loc_preds, cls_preds):
            x, y = loc[0] * 0.1 * anchor[2] + anchor[0], loc[1] * 0.1 * anchor[3] + anchor[1]
            w, h = math.exp(loc[2] * 0.2) * anchor[2], math.exp(loc[3] * 0.2) * anchor[3]
            best = max(range(len(score)), key=score.__getitem__)
            boxes.append((x - w / 2, y - h / 2, x + w / 2, y + h / 2))
            labels.append(best)
            scores.append(score[best])
        return boxes, labels, scores


@torch.no_grad()
def evaluate(net, images, coder, gpu):
    """Pictures that are held in memory, without a loader."""
    net.eval()
    predictions = []
    for image in images:
        net(image[None])
        gpu.item()
        if FIX:
            gpu.launch(0.0005, "decode")
            continue
        loc_preds, cls_preds = torch.zeros(ANCHORS, 4).tolist(), torch.rand(ANCHORS, 21).tolist()
        predictions.append(coder.decode(loc_preds, cls_preds))
    net.train()
    return predictions


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    net, coder, images = SSD(gpu), BoxCoder(), torch.zeros(6 * PICTURES, 3, 16, 16)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(Boxes(), batch_size=32, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for x in loader:
            gpu.copy(x.nbytes, pinned=True, non_blocking=True)
            loss = net(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.012, "backward")
            optimizer.step()
            samples += len(x)
            if over():
                break
        evaluate(net, images, coder, gpu)
    done(gpu, samples)


if __name__ == "__main__":
    main()
