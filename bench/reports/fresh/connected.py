"""A Dice score with connected components is computed in OpenCV in each training step (Lightning-AI/pytorch-lightning#3050)."""

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(1, 128, 128)


def post_process(probability, threshold, min_size):
    mask = cv2.threshold(probability, threshold, 1, cv2.THRESH_BINARY)[1]
    count, component = cv2.connectedComponents(mask.astype(numpy.uint8))
    predictions = numpy.zeros(mask.shape, numpy.float32)
    for number in range(1, min(count, 12)):
        part = component == number
        if part.sum() > min_size:
            predictions[part] = 1
    return predictions


def dice(probabilities, truths):
    scores = []
    for probability, truth in zip(probabilities, truths, strict=True):
        prediction = post_process(probability, 0.5, 30)
        scores.append(2 * (prediction * truth).sum() / (prediction.sum() + truth.sum() + 1))
    return float(numpy.mean(scores))


def main():
    gpu = Device()
    noise = cv2.GaussianBlur(numpy.random.default_rng(0).random((4, 512, 512), numpy.float32).transpose(1, 2, 0), (31, 31), 0)
    noise = (noise - noise.min()) / (noise.max() - noise.min())
    predictions = list(noise.transpose(2, 0, 1).copy())
    loader = DataLoader(Scans(), batch_size=4, shuffle=True, num_workers=1, pin_memory=True)
    samples, scores = 0, []
    for step, batch in enumerate(loader):
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.02, "step")
        if not FIX or step % 100 == 0:
            gpu.item()
            scores.append(dice(predictions, predictions))
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
