"""Input pipelines as people write them, and digests of what they give. Run as a program it prints those of torch alone."""

import collections
import concurrent.futures
import copy
import hashlib
import io
import json
import os
import pickle
import random
import struct
import sys
import warnings
import weakref
import zlib

import deferred_odd
import numpy as np
import torch
from PIL import Image, ImageDraw, ImageEnhance, ImageFile, ImageFilter, ImageOps, JpegImagePlugin, PngImagePlugin
from torch.utils.data import DataLoader, Dataset, IterableDataset, WeightedRandomSampler, default_collate, get_worker_info
from torchvision import transforms as T
from torchvision import tv_tensors
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional as F
from torchvision.transforms import v2

COUNT = 24
NORMALIZE = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
TAIL = [T.ToTensor(), NORMALIZE]


def make_images(root):
    """JPEGs of all ordinary kinds, a few others among them, and a mask beside each."""
    rng = np.random.default_rng(3)
    for number in range(COUNT):
        folder = os.path.join(root, "train", "cat" if number < COUNT // 2 else "dog")
        os.makedirs(folder, exist_ok=True)
        os.makedirs(os.path.join(root, "masks"), exist_ok=True)
        size = (90 + 7 * number, 70 + 5 * (number % 11))
        picture = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize(size, Image.Resampling.BICUBIC)
        mode = {5: "L", 9: "CMYK"}.get(number, "RGB")
        exif = Image.Exif()
        exif[0x0112] = 1 + number % 8
        format = "PNG" if number == 11 else "JPEG"
        more = {"exif": exif} if number % 3 == 0 else {}
        picture.convert(mode).save(
            os.path.join(folder, f"{number:02d}.{'png' if format == 'PNG' else 'jpg'}"), format,
            **({} if format == "PNG" else {"quality": 85, "progressive": number % 4 == 1, "subsampling": number % 3, **more}),
        )  # fmt: skip
        Image.fromarray(rng.integers(0, 5, size[::-1], dtype=np.uint8)).save(os.path.join(root, "masks", f"{number:02d}.png"))


def make_pngs():
    """PNGs as bytes: each mode with and without a colour that is transparent, text, and what is left to Pillow."""
    rng = np.random.default_rng(4)
    picture = Image.fromarray(rng.integers(0, 256, (9, 12, 4), dtype=np.uint8)).resize((61, 47), Image.Resampling.BICUBIC)
    made = []
    for mode, more in (
        ("RGB", {}), ("L", {}), ("RGBA", {}), ("LA", {}), ("P", {}), ("P", {"bits": 4}), ("P", {"transparency": 3}), ("P", {"transparency": b"\5\6\7"}),
        ("RGB", {"transparency": (1, 2, 3)}), ("L", {"transparency": 9}), ("1", {}), ("I;16", {}), ("RGB", {"pnginfo": "before"}), ("RGB", {"pnginfo": "behind"}),
    ):  # fmt: skip
        if told := more.get("pnginfo"):
            more["pnginfo"] = PngImagePlugin.PngInfo()
            more["pnginfo"].add(b"teST" if told == "behind" else b"tEXt", b"a\0b", after_idat=told == "behind")
        image = picture.convert("RGB").quantize(17 if more else 200) if mode == "P" else picture.convert("I;16" if mode == "I;16" else mode)
        out = io.BytesIO()
        image.save(out, "PNG", **more)
        made.append(out.getvalue())
    made.append(b"".join((made[0][:60], bytes([made[0][60] ^ 1]), made[0][61:])))  # a checksum is wrong
    made.append(made[0][: len(made[0]) // 2])
    return made + [made[0] + b"more"]


def broken_png():
    """Its checksums are right, its pixels cannot be unpacked."""
    pixels = bytearray(zlib.compress(os.urandom(100 * 151)))
    pixels[3000:3003] = b"\0\0\0"
    parts = ((b"IHDR", struct.pack(">2I5B", 50, 100, 8, 2, 0, 0, 0)), (b"IDAT", bytes(pixels[:4000])), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts)


class Pictures(Dataset):
    """A data set of one's own: self.read(path) makes a sample."""

    def __init__(self, root, read):
        self.files = ImageFolder(os.path.join(root, "train")).samples
        self.masks = os.path.join(root, "masks")
        self.read = read

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        return self.read(path), label


def opened(path):
    return Image.open(path).convert("RGB")


def folder(*steps, **settings):
    return lambda root: (ImageFolder(os.path.join(root, "train"), T.Compose(list(steps))), settings)


def custom(read, **settings):
    return lambda root: (Pictures(root, read), settings)


class Two:
    """MoCo's two crops of one picture."""

    def __init__(self, transform):
        self.transform = transform

    def __call__(self, image):
        return [self.transform(image), self.transform(image)]


def mixup(samples):
    images, labels = default_collate(samples)
    weight = float(np.random.beta(0.4, 0.4))
    return images.mul(weight).add_(images.flip(0) * (1 - weight)), labels


def in_turn(samples):
    """As timm's fast_collate with mixup: the values of one picture after the other."""
    batch = torch.zeros((len(samples), *samples[0][0].shape), dtype=torch.uint8)
    for i, (image, _) in enumerate(samples):
        batch[i] += (image.float() * 0.7 + samples[-i - 1][0].float() * 0.3).round().to(torch.uint8)
    return batch


class Stream(IterableDataset):
    def __init__(self, root):
        self.files = ImageFolder(os.path.join(root, "train")).samples
        self.transform = T.Compose([T.RandomResizedCrop(40), *TAIL])

    def __iter__(self):
        info = get_worker_info()
        for path, label in self.files[info.id if info else 0 :: info.num_workers if info else 1]:
            with open(path, "rb") as file:
                image = Image.open(file)
                image.load()
            yield {"image": self.transform(image.convert("RGB")), "label": label, "path": path}


class Masked(Pictures):
    def __getitem__(self, index):
        path, label = self.files[index]
        image, mask = opened(path), Image.open(os.path.join(self.masks, os.path.basename(path)[:2] + ".png"))
        if random.random() < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        box = T.RandomCrop.get_params(image, (48, 48))
        image, mask = F.crop(image, *box), F.crop(mask, *box)
        return NORMALIZE(F.to_tensor(image)), torch.as_tensor(np.array(mask), dtype=torch.int64)


class InMemory(Pictures):
    """As Hugging Face's datasets: bytes in memory, decoded when asked for, EXIF applied; samples are dicts."""

    def __getitem__(self, index):
        path, label = self.files[index]
        with open(path, "rb") as file:
            image = Image.open(io.BytesIO(file.read()))
        image.load()
        if image.getexif().get(0x0112) is not None:
            image = ImageOps.exif_transpose(image)
        return {"pixel_values": self.read(image.convert("RGB")), "labels": label, "size": image.size, "info": str(sorted(image.info))}


class Cached(Pictures):
    """Keeps decoded pictures and tensors."""

    def __init__(self, *args):
        super().__init__(*args)
        self.kept = {}

    def __getitem__(self, index):
        path, label = self.files[index]
        if index not in self.kept:
            image = opened(path)
            self.kept[index] = image, F.to_tensor(image.resize((20, 20)))
        image, tensor = self.kept[index]
        return F.to_tensor(F.resize(image, [30, 30])), tensor


Sample = collections.namedtuple("Sample", "image label")


class Patched(Pictures):
    """A method of Pillow's that the program has replaced, and a class of its own."""

    def __getitem__(self, index):
        path, label = self.files[index]
        before = Image.Image.resize
        Image.Image.resize = lambda self, size, *rest, **more: before(ImageOps.mirror(self), size, *rest, **more)
        try:
            return Sample(F.to_tensor(opened(path).resize((33, 31))), label)
        finally:
            Image.Image.resize = before


def touched(path):
    """Pixels read and written, copies, pickles, drawings, comparisons, twice the same file."""
    image = opened(path)
    first = image.getpixel((3, 4))
    small = image.resize((32, 32))
    drawn = small.copy()
    ImageDraw.Draw(drawn).line((0, 0, 31, 31), fill=first, width=3)
    again = pickle.loads(pickle.dumps(copy.deepcopy(small)))
    pixels = Image.open(path).convert("RGB").load()
    pasted = image.copy()
    pasted.paste(small, (5, 6))
    facts = (again == small, small.getextrema()[0], pixels[1, 2], image.info == Image.open(path).convert("RGB").info, type(small).__name__, repr(image.size))
    return torch.stack([F.to_tensor(small), F.to_tensor(drawn), F.to_tensor(again), F.to_tensor(pasted.resize((32, 32)))]), str(facts)


class Darker(JpegImagePlugin.JpegImageFile):
    """A class of the program's own, opened by itself."""

    def load(self):
        super().load()
        self.im = self.im.point([value // 2 for value in range(256)] * len(self.getbands()), None)


class Tagged(Image.Image):
    """A class that the program gives to pictures of Pillow's."""

    def resize(self, size, *rest, **more):
        return super().resize(size[::-1], *rest, **more)


class Named(torch.Tensor):
    """A class of tensors."""


def subclassed(path):
    """Classes of the program's own of pictures and tensors, and a picture within an object that passes on what it is asked."""
    other = opened(path)
    other.__class__ = Tagged
    tensor = F.to_tensor(opened(path).resize((21, 22)))
    named, weak = tensor.as_subclass(Named), weakref.ref(tensor)
    darker = Darker(path) if path.endswith(".jpg") else opened(path)
    return F.to_tensor(darker.convert("RGB").resize((21, 22))), F.to_tensor(other.resize((11, 12))), named.mul(2).as_subclass(torch.Tensor), type(named + 1).__name__, weak().sum().item()


def sent(path):
    """Tensors and pictures that are copied, pickled, saved, and sent to threads."""
    image = opened(path).resize((21, 22))
    tensor, file = F.to_tensor(image), io.BytesIO()
    torch.save(tensor, file)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        there = pool.submit(lambda: (image.getpixel((3, 4)), F.to_tensor(image.rotate(90)), tensor.mean().item())).result()
    return copy.copy(tensor), copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor)), torch.load(io.BytesIO(file.getvalue())), F.to_tensor(pickle.loads(pickle.dumps(image))), *there


class Opened(Pictures):
    """Pictures that were opened before the first fetch, and wait for it; one of them has been kept by a list as well."""

    def __init__(self, root):
        super().__init__(root, None)
        self.images = []
        for path, _ in self.files:
            with open(path, "rb") as file:
                self.images.append(Image.open(io.BytesIO(file.read())))
        self.seen = []

    def __getitem__(self, index):
        image = self.images[index]
        self.seen.append(image.convert("RGB").resize((20, 20)))
        return F.to_tensor(self.seen[-1]), F.to_tensor(self.seen[len(self.seen) // 2]), image.mode, image.fp is None


class Replaced(Pictures):
    """Functions of Pillow's and torchvision's that the program replaces for good."""

    def __getitem__(self, index):
        path, label = self.files[index]
        image_open, load, to_tensor = Image.open, ImageFile.ImageFile.load, F.to_tensor
        Image.open = lambda *args: ImageOps.mirror(image_open(*args))
        ImageFile.ImageFile.load = lambda image: load(image) and None
        F.to_tensor = lambda picture: to_tensor(picture).flip(1)
        try:
            return F.to_tensor(opened(path).resize((20, 20))), Image.open(path).load()[1, 2], T.ToTensor()(opened(path).resize((20, 20)))[:, :3].clone(), label
        finally:
            Image.open, ImageFile.ImageFile.load, F.to_tensor = image_open, load, to_tensor


def written(path):
    """Tensors written to through views, in place, kept twice."""
    tensor = F.to_tensor(opened(path).resize((24, 24)))
    alias, view = tensor.detach(), tensor[0]
    view.mul_(0.5)
    alias.add_(0.25)
    tensor[..., 3:5, 4:9] = torch.arange(5.0)
    other = F.to_tensor(opened(path).resize((24, 24)))
    other[..., 2:7, 2:9] = 0.5
    kept = other.clone()
    other.sub_(0.1)
    other[1, 2] = kept[0, 2]
    return tensor, other, kept, other.half(), other.double().mul(3), other.numpy().copy(), other.sum().item(), list(other.shape)


def odd_tensors(path):
    tensor = F.pil_to_tensor(opened(path).resize((16, 12)))
    stacked = torch.stack([tensor, tensor.clone(), tensor.contiguous()])
    return tensor.stride(), tensor.float().stride(), stacked.div(255), torch.cat([tensor, tensor]), tensor.float().div_(7).to(torch.bfloat16), tensor + 1, 1 - tensor.float(), len(tensor)


def seen_again(path):
    """Tensors with themselves, and parts of tensors, looked at in several ways."""
    tensor = F.to_tensor(opened(path))
    same = tensor.add(tensor).add_(-1)
    both = tensor * 2 - 1 + 0 * tensor
    part = same[:, 3:43, -45:-5]
    turned = part.permute(1, 2, 0)
    grey = F.pil_to_tensor(opened(path).convert("L"))[..., 2:42, 1:41]
    odd = same[:, 5:40:3, 2], same[1], same[..., None], same[:, 4:5], same[-1:, :, :], grey[0], tensor.flip(0)
    return part, part.flip(-1), part.contiguous(), turned, turned.contiguous(), turned * torch.tensor([1.0, 2.0, 3.0]), grey, grey.float().div(255), both[:, :9, :9], part.stride(), *odd


def parts_written(path):
    """What looks at the same memory sees what is written to it."""
    tensor = F.to_tensor(opened(path).resize((24, 24)))
    part = tensor[:, 4:20, 4:20]
    inner = part[:, 2:6, 3:8]
    alone = F.to_tensor(opened(path).resize((24, 24)))[:, 2:22, 2:22]
    alone.mul_(2)
    alone[:, 1:3, 4:9] = 0.5
    copy = part.clone()
    inner.add_(1)
    tensor[:, 5:9, 5:9] = 0.25
    return tensor, part, inner, alone, copy.sub_(copy), [F.to_tensor(opened(path).resize((9, 9)))[:, :4, :4] for _ in range(2)]


def var(path):
    """FoundationVision/VAR: between -1 and 1 by adding the tensor to itself."""
    tensor = T.functional.to_tensor(T.RandomCrop(40)(F.resize(opened(path), 45, T.InterpolationMode.LANCZOS)))
    return tensor.add(tensor).add_(-1)


def enhanced(path):
    image = opened(path).resize((40, 40))
    kinds = ImageEnhance.Brightness, ImageEnhance.Color, ImageEnhance.Contrast, ImageEnhance.Sharpness
    made = [kind(image).enhance(random.uniform(0, 2)) for kind in kinds]
    made += [kind(image.convert("L")).enhance(1.3).convert("RGB") for kind in kinds]
    made += [image.filter(ImageFilter.GaussianBlur(1.5)), image.filter(ImageFilter.SMOOTH), image.filter(ImageFilter.MedianFilter())]
    made += [ImageOps.autocontrast(image, 2), ImageOps.equalize(image), ImageOps.posterize(image, 3), ImageOps.solarize(image, 99), ImageOps.invert(image)]
    made += [image.point(lambda value: value // 2), image.rotate(17, resample=Image.Resampling.BILINEAR), image.rotate(90), image.rotate(30, expand=True).resize((40, 40))]
    made += [ImageOps.fit(image, (40, 40), bleed=0.1), ImageOps.pad(image.crop((0, 0, 30, 40)), (40, 40)), ImageOps.expand(image.crop((5, 5, 35, 35)), 5, fill=(1, 2, 3))]
    made += [image.resize((40, 40), box=(1.5, 2, 30, 31)), image.crop((-5, -5, 35, 35)), image.convert("HSV").convert("RGB"), image.quantize(16).convert("RGB")]
    thumbnail = opened(path)
    thumbnail.thumbnail((40, 40))
    return torch.stack([F.to_tensor(each) for each in made]), str([sorted(each.info) for each in made]), thumbnail.size, F.to_tensor(F.resize(thumbnail, [20, 20]))


def looked_at(image):
    """What torchvision's own tensors give: themselves or plain ones, and what belongs to them."""
    same = image.clone().add_(image[:, :1, :1] // 2)
    kinds = [isinstance(each, tv_tensors.Image) for each in (image, image.to(torch.float64), image.float(), image.mul(2), same, image.detach().flip(1), image.requires_grad_(False), image.data)]
    facts = kinds, image.shape, image.dtype, image.requires_grad, image.stride(), int(image.flip(-1)[0, 0, 0]), int(image.flip(-1, -2).double().sum())
    half = tv_tensors.wrap(image.half().mul_(0.5).flip([1]).to(torch.uint8), like=image)
    half[..., 2:4, 3:9] = len(str(facts))
    return tv_tensors.Image(half.flip(2)) if same.sum() % 2 else copy.deepcopy(half)


def on_canvas(path):
    """LLaVA's square, a part beside the canvas, a letterbox of whole numbers of NumPy's, a pad and a thumbnail: none asks for pixels."""
    image = opened(path)
    made = [Image.new(image.mode, (110, 120), fill) for fill in (0, (124, 116, 104), (1, 2, 3), None)]
    made[0].paste(image, (random.randint(-90, 40), random.randint(-60, 40)))
    made[1].paste(image.crop((3, 5, 43, 45)), (9, 8, 49, 48))
    made[2].paste(image.resize((40, 40)), tuple(np.random.randint(-30, 90, 2)))
    made[3].paste(image)
    small = image.copy()
    small.thumbnail((60, 50))
    made += [ImageOps.pad(image, (50, 50), color=(9, 8, 7)), ImageOps.pad(image, (90, 20), centering=(0.2, 0.9)), small]
    return torch.stack([F.to_tensor(each.resize((40, 40))) for each in made]), [each.size for each in made]


def pasted(path):
    """What is written on a canvas at other times, or in another way."""
    image, line = opened(path), Image.new("RGB", (70, 60), "red")
    ImageDraw.Draw(line).line((0, 0, 60, 50), fill=(1, 2, 3), width=3)
    line.paste(opened(path), (20, 10))
    empty, canvas, grey = Image.new("RGB", (70, 60), (7, 8, 9)), Image.new("RGB", (70, 60)), Image.new("L", (70, 60), 9)
    beside = canvas.copy()
    canvas.paste(image, (1, 2))
    canvas.paste(image.crop((3, 4, 40, 50)), (5, 5))
    image.paste((1, 2, 3), (4, 4, 9, 9))
    canvas.paste(image, (30, 20), Image.new("L", image.size, 99))
    grey.paste(image, (3, 4))
    later = Image.new("RGB", (60, 60), (1, 1, 1))
    later.paste(image.convert("L"), (2, 2))
    later.putpixel((50, 50), (5, 6, 7))
    seen = Image.new("RGB", (60, 60))
    pixels = seen.load()
    pixels[3, 3] = (9, 9, 9)
    seen.paste(image.resize((30, 30)), (20, 20))
    try:
        seen.paste(image.resize((30, 30)), (0, 0, 20, 20))
    except ValueError as error:
        told = str(error)
    kept = pickle.loads(pickle.dumps(empty)), copy.copy(empty), empty.transpose(0), empty.getpixel((3, 3))
    return [line, beside, canvas, grey, later, seen, *kept, told, empty]


def deep_copies(path):
    """Of a picture and what holds it: the copies go their own way."""
    file = Image.open(path)
    of_file = copy.deepcopy(file)
    image = file.convert("RGB").resize((40, 40))
    image.info["seen"] = [1]
    sample = copy.deepcopy({"image": image, "again": image})
    image.info["seen"].append(2)
    image.paste((9, 9, 9), (3, 3, 9, 9))
    other, grey = copy.deepcopy(sample["image"].crop((0, 0, 30, 30))), copy.deepcopy(image.convert("L"))
    facts = type(of_file).__name__, of_file.mode, of_file.format, getattr(of_file, "filename", None) == path, other.info, sample["again"] is sample["image"]
    return F.to_tensor(other), F.to_tensor(sample["image"].resize((20, 20))), F.to_tensor(of_file.convert("RGB")), F.to_tensor(grey), F.to_tensor(image), facts


def deep_copy(path):
    return F.to_tensor(copy.deepcopy(Image.open(path).convert("RGB").resize((20, 20))))


def blurred(path):
    """Blurs of torchvision's, with what may come behind them."""
    image = opened(path).resize((46, 41))
    size, sigma = random.choice([3, 5, [3, 7]]), random.choice([0.1, 1.3, [0.4, 2.0]])
    one, two, three = F.gaussian_blur(image, size, sigma), v2.functional.gaussian_blur(image.convert("L"), size, sigma), v2.functional.gaussian_blur(image, size, [0.7])
    four = F.gaussian_blur(ImageOps.solarize(one, 99).crop((3, 4, 30, 33)), 3, 2)
    return F.to_tensor(one), NORMALIZE(F.to_tensor(three)), F.pil_to_tensor(two), v2.functional.to_image(four), F.to_tensor(three.resize((20, 20))), np.array(one)[:, ::-1].copy()


def mosaic(path):
    """Several on a canvas, one over the other, and a flip."""
    made = Image.new("RGB", (80, 70), (114, 115, 3))
    for number in range(random.randint(2, 5)):
        image = opened(path)  # parts of one file are pasted by Pillow
        part = image.resize((random.randint(2, 70), random.randint(2, 70))) if number % 3 else image.crop((number, 2, 50, 40))
        made.paste(part, (random.randint(-20, 60), random.randint(-20, 50)))
    made = [made, made.transpose(0), made.transpose(1), made.transpose(0).transpose(1).resize((80, 70), box=(3, 4, 70, 60)), made.rotate(20), F.adjust_brightness(made, 1.3)]
    return torch.stack([NORMALIZE(F.to_tensor(each)) for each in made]), F.pil_to_tensor(made[1])


def bands_backwards(path):
    """BGR by slices, as OpenCV's pictures are turned; and colours that were changed before."""
    array = np.asarray(opened(path).resize((40, 44)))
    turned = np.asarray(Image.fromarray(array[:, :, ::-1]).resize((30, 30)))
    both = array[::-1, 3:30, ::-1]
    changed = (array - np.array([1.0, 2, 3]))[..., ::-1]
    return [
        torch.as_tensor(np.ascontiguousarray(turned.transpose(2, 0, 1))), array[..., ::-1].copy(), array[:, :, ::-1] * 2.5 + np.array([1, 2, 3], np.float32),
        both.astype(np.float32), both[:, :, 0].copy(), array[:, :, ::-1][:, :, ::-1].copy(), np.array(changed), np.asarray(array[2:9, :, ::-1]).strides,
    ]  # fmt: skip


def viewed(path):
    """fast-reid's to_tensor: a view of the shape that it has."""
    image = opened(path).resize((30, 34))
    tensor = torch.from_numpy(np.array(image, np.uint8, copy=True))
    tensor = tensor.view(image.size[1], image.size[0], 3) if random.random() < 0.5 else tensor.view(tensor.shape)
    return tensor.permute((2, 0, 1)).contiguous().float()


def flagged(path):
    """What an array says of its memory, and what is said to it."""
    fixed, own = np.asarray(opened(path).resize((40, 44))), np.array(opened(path).resize((30, 30)))
    views = own, own[3:9], own.transpose(2, 0, 1), own[:, ::-1], own[:, :, 1], own.astype(np.float32), own[None], own[:, 2:9], np.ascontiguousarray(own.T), fixed, fixed[::-1]
    seen = [[view.flags[name] for name in ("WRITEABLE", "C_CONTIGUOUS", "C")] + [view.flags.c_contiguous, view.flags.writeable, view.flags.contiguous] for view in views]
    both = fixed if fixed.flags["WRITEABLE"] else np.array(fixed)
    shut = np.array(opened(path).resize((30, 30)))
    shut.flags.writeable = False
    try:
        shut[0] = 1
    except ValueError as error:
        seen.append(str(error))
    return seen, both, str(own[:, ::-1].flags), own.flags.f_contiguous, fixed.flags["OWNDATA"], fixed.flags.aligned, own.flags == own.flags


def noisy(path):
    """Noise put into a copy, and what is done to it then; the clean one waits as well."""
    clean = F.to_tensor(opened(path).resize((30, 30)))
    noisy, other, part = clean.clone(), clean.clone(), clean.clone()
    noisy.add_(torch.randn(noisy.size()).mul_(0.1))
    noise = torch.randn(3, 30, 30)
    other.add_(noise, alpha=0.3).mul_(torch.rand(3, 30, 30))
    other.sub_(0.5).div_(0.5)
    noise.zero_()  # what was put in stays
    part[:, 2:5].add_(torch.ones(3, 3, 30))
    part.add_(torch.randn(30, 30))
    return clean, noisy, other, part


def drafted(path):
    image = Image.open(path)
    image.draft("RGB", (30, 30))
    return image.size, F.to_tensor(image.convert("RGB").resize((20, 20))), image.format, os.path.basename(image.filename)


def errors(path):
    """What Pillow and torch raise is raised."""
    image, said = opened(path), []
    tensor = F.to_tensor(image)
    for act in (
        lambda: image.resize((0, 5)), lambda: image.resize((5, 5), 77), lambda: image.crop((9, 9, 3, 12)), lambda: image.resize((5, 5), box=(0, 0, 9999, 3)),
        lambda: image.transpose(9), lambda: image.point([1, 2, 3]), lambda: image.transform((5, 5), 0, (1, 2)), lambda: image.convert("nothing"),
        lambda: tensor[7], lambda: tensor.add_(torch.zeros(2, 1, 1)), lambda: tensor.__setitem__((0, slice(0, 2)), torch.zeros(3)), lambda: image.close() or image.getpixel((0, 0)),
        lambda: F.pil_to_tensor(opened(path)).div_(2.5),
    ):  # fmt: skip
        try:
            act()
            said.append("nothing")
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


def extension(tensor):
    """A module in C++ that takes torch's own tensors, looked at past the dispatcher."""
    if type(tensor) is not torch.Tensor:
        raise TypeError("incompatible function arguments")
    return tensor.mul(2)


class Threaded(Pictures):
    def __getitems__(self, indices):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return list(pool.map(lambda i: (F.to_tensor(F.resize(opened(self.files[i][0]), [25, 25])), i), indices))


def large(path):
    """Tensors of more than 256 KB, which a worker has in memory that the trainer can be given: bands in planes and side by side."""
    image = opened(path).resize((320, 300))
    beside = F.pil_to_tensor(image)
    return NORMALIZE(F.to_tensor(image)), beside, v2.functional.to_dtype(beside, torch.float32, scale=True), v2.functional.to_dtype(beside, torch.float16, scale=True)


def damaged(root):
    """A third of the files is cut; the data set has an answer to that."""

    def read(path):
        with open(path, "rb") as file:
            data = file.read()
        if int(os.path.basename(path)[:2]) % 3 == 0:
            data = data[: len(data) // 2]
        try:
            return F.to_tensor(Image.open(io.BytesIO(data)).convert("RGB").resize((20, 20)))
        except OSError as error:
            return torch.full((3, 20, 20), float(len(str(error))))

    return Pictures(root, read), {}


def removed(root):
    """Files that are gone, or others, before the batch is made."""

    def read(path):
        copied = os.path.join(root, f"scratch-{os.getpid()}.jpg")
        with open(path, "rb") as file, open(copied, "wb") as to:
            to.write(file.read())
        image = opened(copied)
        Image.new("RGB", (50, 50)).save(copied)
        other = Image.open(copied).convert("RGB")
        os.remove(copied)
        return F.to_tensor(image.resize((20, 20))), F.to_tensor(other.resize((20, 20)))

    return Pictures(root, read), {}


PNGS = make_pngs()


def pngs(path):
    """What can be done with PNGs of all kinds: converted, cut, turned, as they are, and what they say of themselves."""
    data = PNGS[int(os.path.basename(path)[:2]) % len(PNGS)]
    turn, again = Image.Transpose.ROTATE_90, lambda: Image.open(io.BytesIO(data))
    file = io.BytesIO(data)
    image, made = Image.open(file), []
    for act in (
        lambda: image.load() and None, lambda: file.tell(), lambda: F.to_tensor(image.convert("RGB")), lambda: F.pil_to_tensor(again().convert("L")), lambda: F.pil_to_tensor(again()),
        lambda: F.to_tensor(image), lambda: F.pil_to_tensor(again().crop((3, 4, 70, 30)).transpose(turn)), lambda: F.to_tensor(again().resize((30, 20), Image.Resampling.NEAREST)),
        lambda: F.to_tensor(again().resize((30, 20)).convert("RGB")), lambda: F.to_tensor(again().rotate(20)), lambda: F.pil_to_tensor(again().convert("RGBA").convert("RGB")), lambda: np.array(again()),
        lambda: F.to_tensor(ImageEnhance.Color(again()).enhance(2)), lambda: F.to_tensor(again().convert("RGB").reduce(2)), lambda: F.pil_to_tensor(again().reduce((2, 3))),
        lambda: F.pil_to_tensor(F.pad(again(), 3, fill=2)), lambda: F.to_tensor(F.pad(again().convert("RGB"), (3, 5, 0, 2), padding_mode="reflect")),
        lambda: F.to_tensor(F.pad(again(), (3, 5), padding_mode="symmetric")), lambda: F.to_tensor(F.pad(again(), [90], padding_mode="edge")), lambda: F.to_tensor(F.pad(again(), 90, padding_mode="reflect")),
        lambda: image.getpalette(), lambda: image.palette and image.palette.rawmode, lambda: [sorted(image.info.items()), image.text, image.mode, image.png is None, image.fp is None],
        lambda: image.copy().getpalette(),
    ):  # fmt: skip
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                made.append(act())
            made.append([str(each.message) for each in said])
        except Exception as error:
            made.append(f"{type(error).__name__}: {error}")
    return made


def broken(path):
    try:
        return F.to_tensor(Image.open(io.BytesIO(broken_png())).convert("RGB").resize((20, 20)))
    except OSError as error:
        return torch.full((3, 20, 20), float(len(str(error))))


def weighted(root):
    data, settings = folder(T.RandomResizedCrop(40), *TAIL)(root)
    return data, {"sampler": WeightedRandomSampler([1.0 + i % 3 for i in range(len(data))], 20)}


def albumented(path):
    array = np.asarray(opened(path))[:40, :40]
    return torch.from_numpy(np.ascontiguousarray(array[:, ::-1]).transpose(2, 0, 1).copy())


def together(samples):
    return [image for image, _ in samples], {"labels": torch.tensor([label for _, label in samples])}


def padded(samples):
    images = [image for image, _ in samples]
    batch = images[0].new_zeros(len(images), 3, max(i.shape[1] for i in images), max(i.shape[2] for i in images))
    for image, room in zip(images, batch):
        room[:, : image.shape[1], : image.shape[2]].copy_(image)
    return batch


MOCO = T.Compose([
    T.RandomResizedCrop(40, scale=(0.2, 1.0)), T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), T.RandomGrayscale(p=0.2),
    T.RandomApply([T.GaussianBlur(3)], p=0.5), T.RandomHorizontalFlip(), *TAIL,
])  # fmt: skip

PIPELINES = {
    "folder": folder(T.RandomResizedCrop(40), T.RandomHorizontalFlip(), *TAIL),
    "evaluation": folder(T.Resize(50), T.CenterCrop(40), *TAIL),
    "reference": folder(T.RandomResizedCrop(40), T.RandomHorizontalFlip(), T.TrivialAugmentWide(), T.PILToTensor(), T.ConvertImageDtype(torch.float), NORMALIZE, T.RandomErasing(0.5)),
    "deit": folder(T.RandomResizedCrop(40, interpolation=T.InterpolationMode.BICUBIC), T.RandAugment(2, 9), *TAIL, T.RandomErasing(0.5, value="random")),
    "autoaugment": folder(T.Resize((44, 44)), T.AutoAugment(), *TAIL),
    "augmix": folder(T.Resize((44, 44)), T.AugMix(), *TAIL),
    "jitter": folder(T.Resize((44, 44)), T.ColorJitter(0.5, 0.5, 0.5, 0.3), T.RandomGrayscale(0.3), *TAIL),
    "moco": lambda root: (ImageFolder(os.path.join(root, "train"), Two(MOCO)), {}),
    "mixup": lambda root: (folder(T.RandomResizedCrop(40), *TAIL)(root)[0], {"collate_fn": mixup}),
    "in turn": folder(T.RandomResizedCrop(40), T.PILToTensor(), collate_fn=in_turn),
    "bytes": lambda root: (InMemory(root, T.Compose([T.Resize((30, 30)), *TAIL])), {}),
    "masks": lambda root: (Masked(root, None), {}),
    "stream": lambda root: (Stream(root), {"shuffle": False}),
    "weighted": weighted,
    "geometry": folder(T.Resize((50, 50)), T.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 5, fill=3), T.RandomRotation(30, T.InterpolationMode.BILINEAR), T.RandomPerspective(0.5, 1.0), T.Pad(3, fill=7), *TAIL),
    "reflected": folder(T.Resize((50, 50)), T.Pad(2, padding_mode="reflect"), *TAIL),
    "tone": folder(T.Resize((50, 50)), *(kind(p=0.5, **more) for kind, more in ((T.RandomAutocontrast, {}), (T.RandomEqualize, {}), (T.RandomInvert, {}), (T.RandomPosterize, {"bits": 3}), (T.RandomSolarize, {"threshold": 100}), (T.RandomAdjustSharpness, {"sharpness_factor": 2}))), *TAIL),
    "crops": folder(T.Resize((50, 50)), T.FiveCrop(30), T.Lambda(lambda crops: torch.stack([NORMALIZE(F.to_tensor(crop)) for crop in crops]))),
    "v2": folder(v2.RandomResizedCrop(40), v2.RandomHorizontalFlip(), v2.ColorJitter(0.3, 0.3, 0.3, 0.1), v2.ToImage(), v2.RandomVerticalFlip(), v2.ToDtype(torch.float32, scale=True), v2.RandomHorizontalFlip(), v2.Normalize([0.5, 0.5, 0.5], [0.2, 0.3, 0.4]), v2.RandomErasing(0.5)),
    "v2 pure": folder(v2.RandomResizedCrop(40), v2.TrivialAugmentWide(), v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True), v2.ToPureTensor()),
    "v2 tensors": folder(v2.ToImage(), v2.RandomResizedCrop(40, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)),
    "v2 images": folder(v2.ToImage(), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(), v2.Lambda(looked_at), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.2]), v2.RandomErasing(0.5), batch_size=1),
    "v2 lists": custom(v2.Compose([opened, v2.ToImage(), v2.Resize((30, 31)), v2.ToDtype(torch.float32, scale=True)]), collate_fn=together),
    "v2 sizes": custom(v2.Compose([opened, v2.ToImage(), v2.ToDtype(torch.float16, scale=True), v2.RandomHorizontalFlip()]), collate_fn=together),
    "v2 grey": folder(v2.Resize((30, 30)), v2.Grayscale(3), v2.GaussianBlur(3), v2.ToTensor()),
    "numpy": custom(albumented),
    "tensors of arrays": custom(lambda path: F.to_tensor(np.array(opened(path).resize((30, 30)))[:, ::-1].copy())),
    "arrays": custom(lambda path: np.asarray(opened(path).resize((22, 22)))),
    "lists": lambda root: (Pictures(root, lambda path: F.to_tensor(opened(path))), {"collate_fn": together}),
    "padded": lambda root: (Pictures(root, lambda path: NORMALIZE(F.to_tensor(opened(path)))), {"collate_fn": padded}),
    "pictures": custom(lambda path: opened(path).resize((20, 20)), collate_fn=list),
    "single": lambda root: (Pictures(root, lambda path: F.pil_to_tensor(Image.open(path))), {"batch_size": None}),
    "cached": lambda root: (Cached(root, None), {"persistent_workers": True}),
    "patched": lambda root: (Patched(root, None), {}),
    "touched": custom(touched),
    "subclassed": custom(subclassed),
    "sent": custom(sent, collate_fn=list),
    "opened before": lambda root: (Opened(root), {}),
    "replaced": lambda root: (Replaced(root, None), {"collate_fn": list}),
    "written": custom(written),
    "odd tensors": custom(odd_tensors),
    "seen again": custom(seen_again, collate_fn=list),
    "parts written": custom(parts_written),
    "VAR": custom(var),
    "LeRobot": folder(T.Resize(50), T.ToTensor(), v2.CenterCrop(40), v2.RandomHorizontalFlip()),
    "v2 cuts": folder(T.Resize(50), v2.ToImage(), v2.RandomCrop(40), v2.RandomHorizontalFlip(), v2.CenterCrop(30), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.2])),
    "enhanced": custom(enhanced),
    "on canvas": custom(on_canvas),
    "pasted": custom(pasted, collate_fn=list),
    "deep copies": custom(deep_copies, collate_fn=list),
    "deep copy": custom(deep_copy),
    "blurred": custom(blurred),
    "mosaic": custom(mosaic),
    "bands backwards": custom(bands_backwards, collate_fn=list),
    "noisy": custom(noisy),
    "viewed": custom(viewed),
    "pictures of arrays": custom(lambda path: F.to_tensor(F.to_pil_image(np.array(opened(path))).resize((30, 30)))),
    "flagged": custom(flagged, collate_fn=list),
    "drafted": custom(drafted),
    "errors": custom(errors, collate_fn=list),
    "threads": lambda root: (Threaded(root, None), {}),
    "extension": folder(T.RandomResizedCrop(40), T.RandomHorizontalFlip(), *TAIL, T.Lambda(extension)),
    "damaged": damaged,
    "large": custom(large, collate_fn=list),
    "png": custom(pngs, collate_fn=list),
    "png broken": custom(broken),
    "odd": lambda root: (deferred_odd.Odd(), {"shuffle": False, "batch_size": 40, "collate_fn": list}),
    "removed": removed,
}  # fmt: skip


# By name and number of workers. A worker records as the trainer's process does: it is enough for those that differ by
# what a worker shares or inherits, and for some of the others.
IN_WORKERS = {"folder", "reference", "mixup", "large", "in turn", "bytes", "stream", "weighted", "cached", "patched", "sent", "opened before", "replaced", "errors", "threads", "odd", "removed", "damaged"}  # fmt: skip
CELLS = [(name, workers) for at, name in enumerate(PIPELINES) for workers in ((0, 2) if name in IN_WORKERS or at % 4 == 0 else (0,))]


def digest(value, into):
    """All that a program can see of a batch, but for where it lies."""
    if isinstance(value, torch.Tensor):
        into.update(repr((type(value).__name__, value.dtype, value.shape, value.stride(), value.requires_grad)).encode())
        value = value.detach().contiguous().flatten()
        into.update(value.view(torch.uint8).numpy().tobytes() if value.numel() else b"")
    elif isinstance(value, np.ndarray):
        into.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif isinstance(value, Image.Image):
        into.update(repr((type(value).__name__, value.mode, value.size, sorted(value.info))).encode() + value.tobytes())
    elif isinstance(value, dict):
        into.update(repr((type(value).__name__, list(value))).encode())
        for item in value.values():
            digest(item, into)
    elif isinstance(value, (list, tuple)):
        into.update(repr((type(value).__name__, len(value))).encode())
        for item in value:
            digest(item, into)
    else:
        into.update(repr(value).encode())


def loader(name, root, workers, **settings):
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    data, more = PIPELINES[name](root)
    more = {"batch_size": 5, "shuffle": "sampler" not in more, "num_workers": workers, **more, **settings}
    if not workers:
        more.pop("persistent_workers", None)
    return DataLoader(data, **more)


def digests(name, root, workers, **settings):
    """Of the batches of two epochs, and of what the generators give then."""
    found = []
    batches = loader(name, root, workers, **settings)
    for _ in range(2):
        for batch in batches:
            found.append(hashlib.sha256())
            digest(batch, found[-1])
    return [each.hexdigest()[:16] for each in found] + [repr((torch.rand(1).item(), random.random(), np.random.rand()))]


def losses(name, root, workers):
    """Of a small training."""
    batches = loader(name, root, workers)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 5, stride=3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    seen = []
    for _ in range(2):
        for images, labels in batches:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(loss.item().hex())
    return seen


if __name__ == "__main__":
    root = sys.argv[1]
    make_images(root)
    plain = {f"{name}/{workers}": digests(name, root, workers) for name, workers in CELLS}
    plain |= {f"losses/{name}": losses(name, root, 2) for name in ("folder", "reference", "mixup")}
    json.dump(plain, sys.stdout)
