"""Objects are found in pictures by a small transformer, trained by Lightning Fabric; every so often it is scored as COCO does."""

# https://github.com/lightly-ai/lightly-train/pull/946
# Cause: at the last validation step the average precision of all pictures is computed in one go, in Python, on the main thread.
# Fix: another implementation of the same evaluation (faster-coco-eval): 5 times as fast.
# Line: 41 to 54, 76 to 84, 120: metric.compute in main; evaluate_img below it.

import numpy
import torch
from common import FIX, done, over
from lightning.fabric import Fabric
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PICTURES, OBJECTS, DETECTIONS, CLASSES, BATCH, EVERY = 256, 24, 100, 2, 16, 30
THRESHOLDS = numpy.arange(0.5, 1.0, 0.05)


class YOLODataset(Dataset):
    def __init__(self, count):
        draw = numpy.random.default_rng(0)
        corner = draw.uniform(0, 400, (count, OBJECTS, 2))
        self.boxes = numpy.concatenate([corner, corner + draw.uniform(30, 200, corner.shape)], -1).astype(numpy.float32)
        self.classes, self.image = draw.integers(0, CLASSES, (count, OBJECTS)), torch.zeros(3, 96, 96, dtype=torch.uint8)

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, i):
        return self.image, torch.from_numpy(self.boxes[i]), torch.from_numpy(self.classes[i])


def box_iou(detections, truths):
    first = numpy.maximum(detections[:, None, :2], truths[None, :, :2])
    last = numpy.minimum(detections[:, None, 2:], truths[None, :, 2:])
    both = numpy.clip(last - first, 0, None).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (detections, truths)]
    return both / (areas[0][:, None] + areas[1][None] - both)


def evaluate_img(ious):
    """As pycocotools: threshold by threshold, box by box, the best truth that is still free."""
    found = numpy.zeros((len(THRESHOLDS), len(ious)))
    taken = numpy.zeros((len(THRESHOLDS), ious.shape[1]))
    for tind, threshold in enumerate(THRESHOLDS):
        for dind in range(len(ious)):
            best, match = min(threshold, 1 - 1e-10), -1
            for gind in range(ious.shape[1]):
                if taken[tind, gind] > 0 or ious[dind, gind] < best:
                    continue
                best, match = ious[dind, gind], gind
            if match >= 0:
                found[tind, dind] = taken[tind, match] = 1
    return found


def faster_evaluate_img(ious):
    """All thresholds at once, and only boxes that can match."""
    found = numpy.zeros((len(THRESHOLDS), len(ious)))
    taken, thresholds = numpy.zeros((len(THRESHOLDS), ious.shape[1]), bool), numpy.arange(len(THRESHOLDS))
    for dind in numpy.flatnonzero(ious.max(1, initial=0) >= THRESHOLDS[0]):
        free = numpy.where(taken, -1.0, ious[dind])
        match = free.argmax(1)
        hit = free[thresholds, match] >= THRESHOLDS
        found[hit, dind], taken[thresholds[hit], match[hit]] = 1, True
    return found


class MeanAveragePrecision:
    def __init__(self, backend):
        self.evaluate, self.state = {"pycocotools": evaluate_img, "faster_coco_eval": faster_evaluate_img}[backend], []

    def update(self, boxes, scores, labels, truths, classes):
        self.state.append((boxes, scores, labels, truths, classes))

    def compute(self):
        hits = []
        for boxes, scores, labels, truths, classes in self.state:
            for category in range(CLASSES):
                order = numpy.argsort(-scores[labels == category], kind="mergesort")
                ious = box_iou(boxes[labels == category][order], truths[classes == category])
                hits.append(self.evaluate(ious).mean() if ious.size else 0.0)
        self.state.clear()
        return float(numpy.mean(hits))


class DINOv2LTDETR:
    def __init__(self, gpu):
        self.gpu, self.draw = gpu, numpy.random.default_rng(1)

    def training_step(self, images, boxes):
        self.gpu.copy(images.nbytes + boxes.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.007, "vit, decoder")
        self.gpu.launch(0.012, "losses, backward, adamw")

    def validation_step(self, images, boxes, classes, metric):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.007, "vit, decoder")
        self.gpu.item()
        for truths, labels in zip(boxes.numpy(), classes.numpy(), strict=True):
            chosen = self.draw.integers(0, OBJECTS, DETECTIONS)
            guesses = truths[chosen] + self.draw.normal(0, 15, (DETECTIONS, 4))
            metric.update(guesses, self.draw.random(DETECTIONS), labels[chosen], truths, labels)


def main():
    torch.set_num_threads(1)
    fabric, gpu, samples, step = Fabric(accelerator="cpu"), Device(spin=False), 0, 0
    model, metric = DINOv2LTDETR(gpu), MeanAveragePrecision("faster_coco_eval" if FIX else "pycocotools")
    options = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train = fabric.setup_dataloaders(DataLoader(YOLODataset(3200), BATCH, shuffle=True, **options))
    val = fabric.setup_dataloaders(DataLoader(YOLODataset(PICTURES), BATCH, **options))
    while not over():
        for images, boxes, _ in train:
            model.training_step(images, boxes)
            step, samples = step + 1, samples + BATCH
            if step % EVERY == 0:
                for batch in val:
                    model.validation_step(*batch, metric)
                fabric.print(f"Val Step {step} | val_metric/map: {metric.compute():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
