"""Average precision after each epoch compares each box with all boxes (rafaelpadilla/Object-Detection-Metrics#73)."""

import random
from collections import Counter, defaultdict

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 1024

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64)


def iou(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def make_boxes(count, images=800, classes=5, seed=0):
    """Boxes as the metric wants them: name of the image, class, confidence, corners."""
    draw, boxes = random.Random(seed), []
    for _ in range(count):
        x, y = draw.random(), draw.random()
        boxes.append([f"{draw.randrange(images)}", draw.randrange(classes), draw.random(), (x, y, x + 0.2, y + 0.2)])
    return boxes


class Evaluator:
    def get_pascal_voc_metrics(self, ground_truths, detections, iou_threshold=0.5):
        return {c: self.average_precision(c, ground_truths, detections, iou_threshold) for c in range(5)}

    def average_precision(self, c, ground_truths, detections, iou_threshold):
        dects = sorted((d for d in detections if d[1] == c), key=lambda d: d[2], reverse=True)
        gts = [g for g in ground_truths if g[1] == c]
        seen = {name: [0] * count for name, count in Counter(g[0] for g in gts).items()}
        by_image = defaultdict(list)
        for g in gts if FIX else ():
            by_image[g[0]].append(g)
        hits = numpy.zeros(len(dects))
        for n, dect in enumerate(dects):
            gt = by_image[dect[0]] if FIX else [g for g in gts if g[0] == dect[0]]
            overlaps = [iou(dect[3], g[3]) for g in gt]
            if overlaps and max(overlaps) >= iou_threshold and not seen[dect[0]][overlaps.index(max(overlaps))]:
                seen[dect[0]][overlaps.index(max(overlaps))] = 1
                hits[n] = 1
        recall, precision = hits.cumsum() / len(gts), hits.cumsum() / numpy.arange(1, len(dects) + 1)
        return float(numpy.trapezoid(precision, recall))


def train_one_epoch(gpu, loader):
    samples = 0
    for images in loader:
        gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.03, "step")
        samples += len(images)
        if over():
            break
    gpu.item()
    return samples


def evaluate(gpu, ground_truths, detections):
    gpu.launch(0.3, "forward of all images")
    gpu.item()
    return Evaluator().get_pascal_voc_metrics(ground_truths, detections)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    ground_truths, detections = make_boxes(5000), make_boxes(32_000, seed=1)
    loader = DataLoader(Images(), 32, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        samples += train_one_epoch(gpu, loader)
        with torch.no_grad():
            found = evaluate(gpu, ground_truths, detections)
        print(f"mAP {sum(found.values()) / len(found):.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
