"""The colours of a label become classes pixel by pixel, in the loop that trains (GeorgeSeif/Semantic-Segmentation-Suite#24)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam-camvid")
CLASSES = {(64, 128, 64): 0, (192, 0, 128): 1, (0, 128, 192): 2, (0, 128, 64): 3}


def make_files(count=24):
    os.makedirs(FOLDER, exist_ok=True)
    colours = numpy.array(list(CLASSES), numpy.uint8)
    paths = [os.path.join(FOLDER, f"{n:02d}.png") for n in range(count)]
    for n, path in enumerate(paths):
        if not os.path.exists(path):
            Image.fromarray(colours[numpy.random.default_rng(n).integers(0, 4, (96, 128))]).save(path)
    return paths


def load_image(path):
    return numpy.asarray(Image.open(path))


def one_hot_it(label, class_dict):
    x = numpy.zeros((*label.shape[:2], len(class_dict)), numpy.float32)
    for i in range(label.shape[0]):
        for j in range(label.shape[1]):
            x[i, j, class_dict[tuple(label[i, j])]] = 1
    return x


def load_label_with_cache(path, labels={}):
    if path not in labels:
        image = load_image(path)
        labels[path] = numpy.stack([(image == colour).all(-1) for colour in CLASSES], -1).astype(numpy.float32)
    return labels[path]


def main():
    torch.set_num_threads(1)
    paths = make_files()
    gpu, samples = Device(spin=False), 0
    parameter = torch.nn.Parameter(torch.zeros(8))
    optimizer = torch.optim.RMSprop([parameter], lr=1e-4)
    while not over():
        for path in numpy.random.permutation(paths):
            input_image = load_image(path).astype(numpy.float32) / 255
            label = load_label_with_cache(path) if FIX else one_hot_it(load_image(path), CLASSES)
            gpu.copy(input_image.nbytes + label.nbytes)
            gpu.launch(0.03, "forward, backward")
            parameter.grad = torch.zeros(8)
            optimizer.step()
            gpu.item()
            samples += 1
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
