"""Pipelines of OpenCV and albumentations as people write them, and files for them."""

import os
import random

import cv2
import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

try:
    import albumentations as A
    from albumentations.pytorch import ToTensorV2
except ImportError:
    A = None

COUNT, SIDE = 12, 48


def write(folder):
    """JPEGs of several kinds, some of which are turned, and PNGs, of two sizes."""
    chance = np.random.default_rng(3)
    for number in range(COUNT):
        height, width = (90, 71) if number % 2 else (67, 101)
        smooth = cv2.resize(chance.integers(0, 256, (9, 11, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
        smooth[: height // 3] = chance.integers(0, 256, (height // 3, width, 3), np.uint8)
        image, exif = Image.fromarray(smooth), Image.Exif()
        exif[0x112] = 1 + number % 8
        if number % 5 == 3:
            image = image.convert("L")
        path = os.path.join(folder, f"{number:03}")
        if number % 4 == 2:
            image.save(path + ".png")
        else:
            image.save(path + ".jpg", quality=85, progressive=number % 3 == 0, exif=exif)


class Files(Dataset):
    """Each with numbers of its own, however often it is asked for."""

    def __init__(self, folder, steps):
        self.files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        self.steps = steps

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        random.seed(index)
        np.random.seed(index)
        torch.manual_seed(index)
        return self.steps(self.files[index])


def rgb(path):
    return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)


def tensor(image):
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))


def cropped(path):
    """A random crop, as many write it."""
    image = rgb(path)
    height, width = image.shape[:2]
    top, left = random.randrange(height - SIDE), random.randrange(width - SIDE)
    image = cv2.resize(image[top : top + SIDE, left : left + SIDE], (40, 33))
    if random.random() < 0.5:
        image = cv2.flip(image, 1)
    return tensor((image.astype(np.float32) / 255.0 - 0.45) / 0.22)


def decoded(path):
    """From bytes, with all flags, and written to the batch as arrays."""
    data = np.fromfile(path, np.uint8)
    images = [cv2.imdecode(data, flag) for flag in (cv2.IMREAD_COLOR, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_UNCHANGED, 256, 129)]
    assert all(isinstance(image, np.ndarray) and image.dtype == np.uint8 for image in images)
    if images[2].ndim == 2:
        images[2] = cv2.cvtColor(images[2], cv2.COLOR_GRAY2BGR)
    return [cv2.resize(image, (31, 30), interpolation=cv2.INTER_AREA) for image in images]


def turned(path):
    """Borders, turns and warps, of both kinds of pictures."""
    image = cv2.imread(path)
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    made = []
    for each in (image, grey):
        matrix = cv2.getRotationMatrix2D((30, 40), random.uniform(-30, 30), 1.1)
        warped = cv2.warpAffine(each, matrix, (70, 60), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
        bordered = cv2.copyMakeBorder(warped, 3, 1, 5, 2, cv2.BORDER_CONSTANT, value=(9, 200, 77))
        made += [cv2.rotate(bordered, cv2.ROTATE_90_CLOCKWISE), cv2.copyMakeBorder(warped, 3, 1, 5, 2, cv2.BORDER_REFLECT)]
    return made


def coloured(path):
    """Hue, saturation and brightness, band by band, and a mask of what is grey."""
    image = cv2.resize(rgb(path), (SIDE, SIDE))
    hue, saturation, value = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2HSV))
    hue = cv2.LUT(hue, ((np.arange(256) + 17) % 180).astype(np.uint8))
    grey = saturation < 9
    saturation = cv2.add(saturation, 30)
    saturation[grey] = 0
    image = cv2.cvtColor(cv2.merge((hue, saturation, cv2.multiply(value, 1.1))), cv2.COLOR_HSV2RGB)
    table = (np.arange(256, dtype=np.float32) - 110) / 57
    return tensor(cv2.merge([cv2.LUT(image[:, :, band], table * (band + 1)) for band in range(3)]))


def normalised(path):
    """By a number for each band, in place, as albumentations 1.3 does it."""
    image = cv2.resize(rgb(path), (SIDE, SIDE))
    numbers = np.ascontiguousarray(image.astype("float32"))
    cv2.subtract(numbers, np.array([123.675, 116.28, 103.53, 0]), numbers)
    cv2.multiply(numbers, np.array([0.0171, 0.0175, 0.0174, 1]), dst=numbers)
    return tensor(numbers), tensor(cv2.subtract(numbers, np.array([0.3, -0.7, 1e-7, 5])))


def written(path):
    """Views that are written to: all that look at the same memory see it."""
    image = cv2.resize(cv2.imread(path), (SIDE, SIDE))
    band = image[:, :, 1]
    image[3:9, 4:8] = 7
    cv2.rectangle(image, (1, 1), (20, 30), (9, 99, 199), 2)
    return tensor(image), torch.from_numpy(band.copy()), image[..., -1] == 7


def into(path):
    """What OpenCV writes into what is there."""
    image = cv2.resize(cv2.imread(path), (SIDE, SIDE))
    again = cv2.add(image, 9, dst=image)
    out = np.zeros((SIDE, SIDE, 3), np.uint8)
    cv2.flip(image, 0, out)
    return tensor(image), tensor(again), tensor(out)


def filtered(path):
    """Cubic resizes, blurs, and sums of a picture with what was made of it."""
    image = cv2.imread(path)
    image = cv2.resize(image, (63, 51), interpolation=cv2.INTER_CUBIC)
    made = [cv2.addWeighted(image, 4, cv2.GaussianBlur(image, (0, 0), random.uniform(0.5, 4)), -4, 128)]
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    made.append(cv2.addWeighted(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), random.random(), image, 0.3, gamma=2.5))
    made.append(cv2.GaussianBlur(grey, ksize=(9, 3), sigmaX=random.uniform(0.5, 4), borderType=cv2.BORDER_REFLECT))
    lab = cv2.cvtColor(image, cv2.COLOR_BGR2LAB)
    return [*made, lab, cv2.cvtColor(cv2.flip(lab, 1), cv2.COLOR_LAB2BGR)]


def equalised(path):
    """What takes no arrays that wait is given a band of LAB."""
    lab = cv2.cvtColor(cv2.resize(rgb(path), (SIDE, SIDE)), cv2.COLOR_RGB2LAB)
    lab[:, :, 0] = cv2.createCLAHE(2.0, (4, 4)).apply(lab[:, :, 0])
    image = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)
    light, a, b = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2LAB))
    return tensor(image), cv2.createCLAHE(3.0, (4, 4)).apply(light)


def boxed(path):
    """LoFTR's: a grey picture in the corner of a square of zeros."""
    image = cv2.resize(cv2.imread(path, cv2.IMREAD_GRAYSCALE), (40, 33))
    padded = np.zeros((SIDE, SIDE), dtype=image.dtype)
    padded[: image.shape[0], : image.shape[1]] = image
    return torch.from_numpy(padded).float()[None] / 255


def letterboxed(path):
    """YOLOX's, and one around the middle, of colours, with what people do then."""
    image = cv2.imread(path)
    ratio = min(SIDE / image.shape[0], SIDE / image.shape[1])
    image = cv2.resize(image, (int(image.shape[1] * ratio), int(image.shape[0] * ratio)), interpolation=cv2.INTER_LINEAR)
    if len(image.shape) == 3:
        padded = np.ones((SIDE, SIDE, 3), dtype=np.uint8) * 114
    else:
        padded = np.ones((SIDE, SIDE), dtype=np.uint8) * 114
    padded[: image.shape[0], : image.shape[1]] = image
    top, left = (SIDE + 6 - image.shape[0]) // 2, (SIDE + 9 - image.shape[1]) // 2
    middle = np.full([SIDE + 6, SIDE + 9, 3], (9, 200, 77), np.uint8)
    middle[top : top + image.shape[0], left : left + image.shape[1], :] = image[:, ::-1]
    return (
        np.ascontiguousarray(padded.transpose(2, 0, 1), dtype=np.float32), tensor(middle[:, :, ::-1]), middle / 255, cv2.resize(middle, (31, 30)),
        cv2.cvtColor(middle, cv2.COLOR_BGR2GRAY), tensor(cv2.copyMakeBorder(padded, 3, 1, 5, 2, cv2.BORDER_CONSTANT, value=(9, 9, 9))), cv2.flip(middle, 1),
    )  # fmt: skip


def mosaic(path):
    """Several pictures on one canvas, one over others, and a cut of the whole."""
    image, grey = cv2.imread(path), cv2.imread(path, 0)
    made = np.full((100, 90, image.shape[2]), 114, dtype=np.uint8)
    for top, left, high, wide in ((0, 0, 30, 40), (50, 40, 50, 50), (20, 20, 40, 40), (95, 0, 5, 90)):
        made[top : top + high, left : left + wide] = cv2.resize(image, (wide, high))[::-1]
    both = np.zeros((60, 60), np.uint8)
    both[-40:, :40] = grey[5:45, 3:43]
    both[np.int64(10) : 30, ...] = cv2.resize(grey, (60, 20))
    image[10:30, 20:50] = cv2.resize(image, (30, 20))
    return tensor(made[9:89, 5:85].astype(np.float32) / 255), both.astype(np.float32), tensor(cv2.resize(image, (SIDE, SIDE))), made.copy(), tensor(cv2.cvtColor(made, cv2.COLOR_BGR2RGB)), made[:, ::-1, ::-1].copy()


def left(path):
    """What is OpenCV's own."""
    image = cv2.imread(path)
    image = cv2.add(image, np.full(image.shape, 3, np.uint8))
    lanczos = cv2.resize(image, (40, 40), interpolation=cv2.INTER_LANCZOS4)
    other = cv2.addWeighted(cv2.imread(path), 0.5, cv2.imread(path), 0.5, 0)[:40, :40]
    return lanczos, cv2.GaussianBlur(lanczos, (5, 5), 0), other, cv2.resize(cv2.imread(path, cv2.IMREAD_REDUCED_COLOR_2), (9, 9))


def albumented(*steps):
    """A pipeline of albumentations, with numbers of its own by file."""
    compose = A.Compose([*steps, A.Normalize(), ToTensorV2()])

    def run(path):
        compose.set_random_seed(int(os.path.basename(path)[:3]))
        return compose(image=rgb(path))["image"]

    return run


def pipelines():
    """By name."""
    found = {
        each.__name__: each
        for each in (cropped, decoded, turned, coloured, filtered, equalised, normalised, written, into, boxed, letterboxed, mosaic, left)
    }
    if A is not None:
        found["training"] = albumented(A.RandomResizedCrop((SIDE, SIDE)), A.HorizontalFlip())
        found["validation"] = albumented(A.Resize(64, 64), A.CenterCrop(SIDE, SIDE))
        found["rotated"] = albumented(A.Resize(SIDE, SIDE), A.D4(p=1), A.RandomRotate90(p=1), A.RandomGamma(p=1))
        found["competition"] = albumented(A.Resize(SIDE, SIDE), A.Affine(scale=(0.8, 1.2), rotate=(-20, 20), p=1), A.RandomBrightnessContrast(p=1), A.HueSaturationValue(p=1))
    return found
