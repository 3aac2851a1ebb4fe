"""Heads of wheat are found in photographs of fields; pictures may be kept in memory."""

# https://github.com/ultralytics/yolov5/issues/6457

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH, PICTURES = 416, 16, 12


class LoadImagesAndLabels(Dataset):
    def __init__(self, cache, count=3400):
        draw = numpy.random.default_rng(0)
        field = cv2.GaussianBlur(draw.integers(0, 255, (SIDE, SIDE + 40, 3), dtype=numpy.uint8), (0, 0), 4)
        self.files = [cv2.imencode(".jpg", field[:, 3 * p : 3 * p + SIDE])[1] for p in range(PICTURES)]
        self.ims = [cv2.imdecode(file, cv2.IMREAD_COLOR) for file in self.files] if cache else None
        self.count = count

    def __len__(self):
        return self.count

    def load_image(self, i):
        return self.ims[i % PICTURES] if self.ims else cv2.imdecode(self.files[i % PICTURES], cv2.IMREAD_COLOR)

    def __getitem__(self, i):
        image = self.load_image(i)
        if numpy.random.random() < 0.5:
            image = image[:, ::-1]
        return torch.from_numpy(numpy.ascontiguousarray(image.transpose(2, 0, 1))), torch.zeros(40, 5)


class Yolo:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, images, targets):
        self.gpu.copy(images.nbytes + targets.nbytes, pinned=True, non_blocking=True)
        for stage in range(9):
            self.gpu.launch(0.041, f"c3 {stage}")
        self.gpu.launch(0.79, "head, loss, backward, sgd")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False, memory_used=10 << 30), 0, 0
    model, dataset = Yolo(gpu), LoadImagesAndLabels(cache=FIX)
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, targets in loader:
            model.step(images, targets)
            step, samples = step + 1, samples + len(images)
            if step % 4 == 0:
                print(f"0/49  9.9G  {gpu.item():.4f}  0.3002  0  924  416: {step}/214", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
