"""Boxes are matched with thousands of anchors for each picture in the data set (uoip/SSD-variants#8)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

ANCHORS, OBJECTS = 8732, 20


def iou(boxes, anchors):
    lefttop = numpy.maximum(boxes[:, None, :2], anchors[None, :, :2])
    rightbottom = numpy.minimum(boxes[:, None, 2:], anchors[None, :, 2:])
    inside = numpy.clip(rightbottom - lefttop, 0, None).prod(2)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)[:, None] + (anchors[:, 2:] - anchors[:, :2]).prod(1)[None]
    return inside / (area - inside)


class VOC(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        corners = draw.random((ANCHORS, 2))
        self.anchors = numpy.concatenate([corners, corners + 0.1], 1)
        self.corners = draw.random((500, OBJECTS, 2))

    def __len__(self):
        return 16_000

    def __getitem__(self, i):
        boxes = numpy.concatenate([self.corners[i % 500], self.corners[i % 500] + 0.2], 1)
        if FIX:
            return torch.zeros(3, 8, 8), torch.from_numpy(boxes)
        best = iou(boxes, self.anchors).argmax(0)
        return torch.zeros(3, 8, 8), torch.from_numpy(boxes[best])


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(VOC(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    while not over():
        for step, (x, boxes) in enumerate(loader):
            gpu.copy(x.nbytes + boxes.nbytes, pinned=True, non_blocking=True)
            if FIX:
                gpu.launch(0.001, "match")
            loss = model(x[:, 0]).square().mean()
            gpu.launch(0.006, "forward")
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.012, "backward, step")
            optimizer.step()
            samples += len(x)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
