"""Images and masks are prepared by a generator in the training thread (matterport/Mask_RCNN#581)."""

import queue
import threading

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

SIZE, MASKS = 704, 20


class Shapes:
    def __init__(self, count=500):
        self.image_ids = numpy.arange(count)
        self.picture = numpy.random.default_rng(0).integers(0, 255, (900, 1200, 3), numpy.uint8)

    def load_image(self, image_id):
        return cv2.resize(self.picture, (SIZE, SIZE))

    def load_mask(self, image_id):
        masks = numpy.zeros((900, 1200, MASKS), bool)
        for number in range(MASKS):
            top, left = 30 * number, (image_id * 7 + 40 * number) % 1000
            masks[top : top + 200, left : left + 200, number] = True
        return masks


def minimize_mask(masks, shape=(56, 56)):
    small = [cv2.resize(masks[..., n].astype(numpy.float32), shape) for n in range(masks.shape[-1])]
    return numpy.stack(small, axis=-1) >= 0.5


def data_generator(dataset):
    while True:
        numpy.random.shuffle(dataset.image_ids)
        for image_id in dataset.image_ids:
            image = dataset.load_image(image_id).astype(numpy.float32) - 117
            masks = minimize_mask(dataset.load_mask(image_id))
            yield image[None], masks[None]


class ThreadingBatches(threading.Thread):
    """Batches that a thread makes ready."""

    def __init__(self, generator):
        super().__init__(daemon=True)
        self.generator, self.batches = generator, queue.Queue(10)
        self.start()

    def run(self):
        for batch in self.generator:
            self.batches.put(batch)

    def __next__(self):
        return self.batches.get()


def fit_generator(gpu, batches):
    samples = 0
    while not over():
        images, masks = next(batches)
        gpu.copy(images.nbytes + masks.nbytes)
        gpu.launch(0.03, "train on batch")
        gpu.item()
        samples += len(images)
    return samples


def main():
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    gpu, batches = Device(spin=False), data_generator(Shapes())
    if FIX:
        batches = ThreadingBatches(batches)
    done(gpu, fit_generator(gpu, batches))


if __name__ == "__main__":
    main()
