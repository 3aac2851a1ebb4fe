"""Features of pictures are extracted one by one (facebookresearch/dinov2#89)."""

import io

import numpy
import torch
import torchvision.transforms as T
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device

BATCH = 32


def make_files(count=64):
    draw = numpy.random.default_rng(0)
    for _ in range(count):
        file = io.BytesIO()
        Image.fromarray(draw.integers(0, 255, (160, 160, 3), dtype=numpy.uint8)).save(file, "PNG")
        yield file


class Dinov2(torch.nn.Module):
    """A picture alone keeps a quarter of the device at work."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.head = gpu, torch.nn.Linear(112, 16)

    def forward(self, img):
        self.gpu.copy(img.nbytes)
        self.gpu.launch(max(0.004, 0.001 * len(img)), "forward")
        return self.head(img[:, 0, 0])


transform = T.Compose([T.Resize(112), T.CenterCrop(112), T.ToTensor(), T.Normalize((0.5,) * 3, (0.5,) * 3)])


def read(file):
    file.seek(0)
    return transform(Image.open(file))[:3]


def extract_features(model, files):
    imgs = torch.stack([read(file) for file in files])
    with torch.no_grad():
        features = model(imgs)
    model.gpu.item()  # .cpu()
    return features.numpy()


def main():
    torch.set_num_threads(1)
    gpu, samples, features = Device(spin=False), 0, []
    model, files = Dinov2(gpu), list(make_files())
    each = BATCH if FIX else 1
    while not over():
        for at in range(0, len(files), each):
            features.append(extract_features(model, files[at:at + each]))
            samples += each
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
