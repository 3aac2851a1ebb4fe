"""Buildings and parking lots are segmented on tiles of aerial imagery; scores are kept for each tile while it trains."""

# https://github.com/mapbox/robosat/pull/112
# Cause: for each tile a mask goes back to the CPU, where a confusion matrix is counted pixel by pixel, as scikit-learn did.
# Fix: count true and false positives with a few tensor operations on the device.
# Line: 19 to 25, 74 to 75, 89: metrics.add in train, which calls confusion_matrix.

import cv2
import numpy
import scipy.sparse
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TILE, BATCH = 256, 4


def confusion_matrix(y_true, y_pred, labels):
    """As scikit-learn of the time: labels are looked up one by one, and a sparse matrix adds them."""
    label_to_ind = {label: i for i, label in enumerate(labels)}
    y_pred = numpy.array([label_to_ind.get(x, len(labels) + 1) for x in y_pred])
    y_true = numpy.array([label_to_ind.get(x, len(labels) + 1) for x in y_true])
    weights = numpy.ones(len(y_true), dtype=numpy.int64)
    return scipy.sparse.coo_matrix((weights, (y_true, y_pred)), shape=(len(labels), len(labels))).toarray()


class SlippyMapTiles(Dataset):
    def __init__(self, count=2000):
        draw = numpy.random.default_rng(0)
        noise = cv2.GaussianBlur(draw.integers(0, 255, (TILE + 64, TILE + 64, 3), dtype=numpy.uint8), (0, 0), 4)
        self.count, self.tiles = count, []
        for t in range(24):
            image = noise[t : t + TILE, 2 * t : 2 * t + TILE]
            mask = (image[..., 0] > 127).astype(numpy.uint8)
            self.tiles.append((cv2.imencode(".jpg", image)[1], cv2.imencode(".png", mask)[1]))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image, mask = self.tiles[i % len(self.tiles)]
        image = torch.from_numpy(cv2.imdecode(image, cv2.IMREAD_COLOR)).permute(2, 0, 1).contiguous()
        return image, torch.from_numpy(cv2.imdecode(mask, cv2.IMREAD_GRAYSCALE))


class UNet:
    """Guesses a mask that is mostly right."""

    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, images, masks):
        self.gpu.copy(images.nbytes + masks.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.014, "resnet, decoder")
        return masks ^ (torch.rand(masks.shape) < 0.1).to(torch.uint8)

    def backward(self):
        self.gpu.launch(0.028, "loss, backward, adam")


class Metrics:
    def __init__(self, gpu, labels):
        self.gpu, self.labels, self.matrix = gpu, labels, numpy.zeros((2, 2))

    def add(self, actual, predicted):
        if FIX:
            self.gpu.launch(0.00006, "predicted / actual")
            for cell in ("tn", "fn", "fp", "tp"):
                self.gpu.launch(0.00002, cell)
                self.matrix.flat[0] += self.gpu.item()
        else:
            self.gpu.item()
            actual, predicted = actual.numpy().ravel(), predicted.numpy().ravel()
            self.matrix += confusion_matrix(actual, predicted, labels=self.labels)

    def get_miou(self):
        diagonal = self.matrix.diagonal()
        return numpy.nanmean(diagonal / numpy.maximum(self.matrix.sum(0) + self.matrix.sum(1) - diagonal, 1))


def train(loader, net, gpu):
    metrics, samples, running = Metrics(gpu, range(2)), 0, 0.0
    for images, masks in loader:
        outputs = net(images, masks)
        net.backward()
        running += gpu.item()
        for mask, output in zip(masks, outputs, strict=True):
            metrics.add(mask, output)
        samples += len(images)
        if over():
            break
    return {"loss": running / samples, "miou": metrics.get_miou()}, samples


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, epoch = Device(spin=False), 0, 0
    net = UNet(gpu)
    loader = DataLoader(SlippyMapTiles(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        hist, count = train(loader, net, gpu)
        epoch, samples = epoch + 1, samples + count
        print(f"Epoch: {epoch} Train loss: {hist['loss']:.4f}, mean IoU: {hist['miou']:.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
