"""Pipelines of arrays as people write them. Run as a program it prints digests of what they give alone."""

import copy
import json
import os
import pickle
import random
import sys

import deferred_pipelines as pipelines
import numpy as np
import torch
from deferred_pipelines import COUNT, F, Pictures, T, custom, opened, v2
from PIL import Image
from torch.utils.data import Dataset

SIDE = 40
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def dit(path):
    """center_crop_arr of ADM, which DiT and SiT have from there."""
    image = opened(path)
    while min(*image.size) >= 2 * SIDE:
        image = image.resize(tuple(x // 2 for x in image.size), resample=Image.Resampling.BOX)
    scale = SIDE / min(*image.size)
    image = image.resize(tuple(round(x * scale) for x in image.size), resample=Image.Resampling.BICUBIC)
    array = np.array(image)
    y, x = (array.shape[0] - SIDE) // 2, (array.shape[1] - SIDE) // 2
    return Image.fromarray(array[y : y + SIDE, x : x + SIDE])


def guided(path):
    """guided-diffusion: arrays to the end."""
    array = np.array(dit(path))
    if random.random() < 0.5:
        array = array[:, ::-1]
    return np.transpose(array.astype(np.float32) / 127.5 - 1, [2, 0, 1])


class Edm(Dataset):
    """NVIDIA's, with its checks."""

    def __init__(self, root):
        self.files = Pictures(root, None).files[:COUNT]
        self.flips = [False] * len(self.files) + [True] * len(self.files)

    def __len__(self):
        return len(self.flips)

    def __getitem__(self, index):
        path, label = self.files[index % len(self.files)]
        with open(path, "rb") as file:
            array = np.array(Image.open(file).convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS))
        if array.ndim == 2:
            array = array[:, :, np.newaxis]
        array = array.transpose(2, 0, 1)
        assert isinstance(array, np.ndarray)
        assert list(array.shape) == [3, SIDE, SIDE] and array.dtype == np.uint8
        if self.flips[index]:
            assert array.ndim == 3
            array = array[:, :, ::-1]
        return array.copy(), np.array([label, index], dtype=np.float32)


def taming(path):
    array = np.array(opened(path).resize((SIDE, SIDE))).astype(np.uint8)
    return {"image": (array / 127.5 - 1.0).astype(np.float32), "path": path}


def pix2pix(path):
    """PyTorch-GAN's."""
    image = opened(path)
    width, height = image.size
    halves = image.crop((0, 0, width // 2, height)), image.crop((width // 2, 0, width, height))
    if random.random() < 0.5:
        halves = [Image.fromarray(np.array(half)[:, ::-1, :], "RGB") for half in halves]
    steps = T.Compose([T.Resize((SIDE, SIDE), T.InterpolationMode.BICUBIC), T.ToTensor(), T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
    return {"A": steps(halves[0]), "B": steps(halves[1])}


class U2net(Dataset):
    """Arrays of picture and mask, scaled by what is in them."""

    def __init__(self, root):
        self.data = Pictures(root, None)
        self.masks = os.path.join(root, "masks")

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        path, _ = self.data.files[index]
        image, mask = np.array(opened(path).resize((SIDE, SIDE))), np.array(Image.open(os.path.join(self.masks, os.path.basename(path)[:2] + ".png")).resize((SIDE, SIDE), 0))
        if random.random() >= 0.5:
            image, mask = image[:, ::-1], mask[:, ::-1]
        top, left = np.random.randint(0, 8), np.random.randint(0, 8)
        image, mask = image[top : top + 30, left : left + 30], mask[top : top + 30, left : left + 30]
        label = mask[:, :, np.newaxis]
        made, image = np.zeros((30, 30, 3)), image / np.max(image)
        if np.max(label) >= 1e-6:
            label = label / np.max(label)
        for band in range(3):
            made[:, :, band] = (image[:, :, band] - MEAN[band]) / STD[band]
        return {"image": torch.from_numpy(made.transpose((2, 0, 1)).copy()), "label": torch.from_numpy(label.transpose((2, 0, 1)).copy())}


class Segmented(Pictures):
    """A mask by np.array, as torchvision's references, MONAI and many others have it."""

    def __getitem__(self, index):
        path, _ = self.files[index]
        image, mask = opened(path), Image.open(os.path.join(self.masks, os.path.basename(path)[:2] + ".png"))
        box = T.RandomCrop.get_params(image, (48, 48))
        image, mask = F.crop(image, *box), F.crop(mask, *box)
        return F.to_tensor(image), torch.as_tensor(np.array(mask), dtype=torch.int64), torch.from_numpy(np.array(mask)).long(), torch.from_numpy(np.array(mask, dtype=np.int32))


class Labelled(Pictures):
    """Masks of which some values become others, as SPADE, semantic-segmentation-pytorch and the like have them."""

    def __getitem__(self, index):
        path, _ = self.files[index]
        mask = Image.open(os.path.join(self.masks, os.path.basename(path)[:2] + ".png")).resize((SIDE, SIDE), 0)
        spade, label = F.to_tensor(mask) * 255.0, torch.from_numpy(np.array(mask)).long() - 1
        spade[spade == 3] = 20
        label[label < 0] = 255
        few = F.pil_to_tensor(mask)
        few[few >= 2] = 1
        values = np.array(mask, dtype=np.float32)
        values[np.array(mask) == 4] = 0.5
        there, numbers = torch.from_numpy(np.array(mask)).long(), np.array(mask)
        there -= 1
        there[there < 0] = 255
        numbers -= 1
        numbers[numbers == 255] = 9
        return spade, label, few, few != 1, values, torch.from_numpy(values).int(), F.to_tensor(mask).mul(300).short(), there, numbers


class Odd(Labelled):
    """What of that is done there and then: masks of other pictures, views, values that a type does not have."""

    def __getitem__(self, index):
        path, _ = self.files[index]
        mask = Image.open(os.path.join(self.masks, os.path.basename(path)[:2] + ".png")).resize((SIDE, SIDE), 0)
        one, other = F.to_tensor(mask) * 255, F.to_tensor(mask.transpose(Image.Transpose.FLIP_LEFT_RIGHT)) * 255
        one[other == 2] = 9
        whole = torch.from_numpy(np.array(mask))
        view = whole[2:9]
        whole[whole == 1] = 7
        taken = F.to_tensor(mask)[F.to_tensor(mask) > 0.01].sum()
        return one, view, whole, taken, (F.to_tensor(mask) * 255 - 2).int(), (F.to_tensor(mask) * 1e9).long(), F.to_tensor(mask) == 0, (F.to_tensor(mask) == 0).float().mean()


class Deep(Pictures):
    """Grey of 16 bits, as arrays, resized as whole numbers of 32 bits, and what stays Pillow's."""

    def __getitem__(self, index):
        path, _ = self.files[index]
        image = Image.open(os.path.join(os.path.dirname(self.masks), "deep", os.path.basename(path)[:2] + ".png"))
        assert image.mode == "I;16"
        array = np.array(image)
        assert array.dtype == np.uint16
        turned = image.convert("I").transpose(Image.Transpose.FLIP_LEFT_RIGHT).resize((30, 20), Image.Resampling.BILINEAR)
        cut = T.Compose([T.Resize((20, 24)), T.CenterCrop(16), T.ToTensor()])(image.convert("I")).float() / 65535
        return (
            self.read(image),
            torch.from_numpy(array.astype(np.float32) / 65535)[None], torch.from_numpy(array).float().unsqueeze(2), ((2 * (array.astype(np.float32) / 65535) - 1) * 1024)[:9, ::-1], np.array(turned), F.to_tensor(turned), cut,
            np.asarray(image.crop((2, 1, 30, 9)), dtype=np.int32), np.array(image.convert("I").resize((9, 80), Image.Resampling.BOX)), np.array(image.transpose(Image.Transpose.ROTATE_90))[:9, :8], np.array(image, dtype=np.uint16)[:9, :9],
            torch.from_numpy(np.array(image.crop((-2, -1, 30, 9)))).float(),
        )  # fmt: skip


def others(image):
    """What a grey of 16 bits is asked for besides."""
    made = [image.convert("I").resize((9, 8), kind) for kind in range(6)] + [image.resize((9, 8)), image.convert("L").crop((0, 0, 9, 8)), image.convert("F").resize((9, 8)), image.point(lambda v: v * 2 + 1).crop((0, 0, 9, 8)), image.convert("I").crop((-1, -1, 8, 7))]
    told = [image.getextrema(), image.convert("I").getpixel((3, 4)), image.histogram()[:9], image.convert("RGB").crop((0, 0, 9, 8)).tobytes().hex(), image.tobytes()[:40].hex(), image.info]
    return [np.array(each) for each in made], [each.tobytes().hex() for each in made], repr(told), np.array(image).max(), F.pil_to_tensor(image)[..., :9, :9]


def hugging(path):
    """transformers' image processors, where they work with NumPy."""
    image = np.array(opened(path).resize((SIDE, SIDE), Image.Resampling.BILINEAR))
    image = (image.astype(np.float64) * (1 / 255)).astype(np.float32)
    mean, std = np.array([0.5, 0.4, 0.3], dtype=image.dtype), np.array([0.2, 0.3, 0.4], dtype=image.dtype)
    image = (image - mean) / std
    return {"pixel_values": image.transpose((2, 0, 1))}


def normalized(path):
    """In place, by lists and vectors of any kind, forwards and turned."""
    image = np.asarray(opened(path).resize((SIDE, SIDE)), dtype=np.float32)
    image = image / 255.0
    image -= MEAN
    image /= STD.astype(np.float32)
    image *= np.float32(0.5)
    image += [0.1, 0.2, 0.3]
    return np.ascontiguousarray(image.transpose(2, 0, 1)), 255 - np.array(opened(path).resize((9, 9))), 1.0 - np.array(opened(path).resize((9, 9)), dtype="float16") / 255


def tensors(path):
    image = opened(path).resize((SIDE, 30))
    array = np.array(image)
    kept = torch.from_numpy(array)
    changed = torch.from_numpy(np.array(image))
    changed[:3] = 7
    shared = np.array(image)
    seen = torch.from_numpy(shared)
    shared[3:5] = 9
    return (
        torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, torch.tensor(np.array(image)), torch.as_tensor(np.array(image), dtype=torch.float32),
        torch.from_numpy(np.asarray(image).copy().transpose(2, 0, 1)).float().div(255), F.to_tensor(np.array(image)), v2.functional.to_image(np.array(image)),
        torch.from_numpy(np.array(image).transpose(2, 0, 1)).unsqueeze(0).contiguous(), torch.from_numpy(np.rollaxis(np.array(image), 2)), kept, changed, seen, T.ToTensor()(np.array(image.convert("L"))),
        torch.tensor(np.array(image.convert("L")), dtype=torch.float32), torch.Tensor(np.array(image)[:4, :5]), torch.stack([torch.from_numpy(np.array(image)), kept]),
    )  # fmt: skip


def looks(path):
    """Cuts, turns and copies; strides and flags as well."""
    array = np.array(opened(path).resize((SIDE, 30)))
    grey = np.asarray(opened(path).convert("L").resize((SIDE, 30)))
    made = [
        array[3:20, 5:], array[::-1], array[:, ::-1, :], array[..., ::-1], array[None], array[5], array[:, :, 1], array[::2, ::3], array[-20:-3, -9:], array.T, array.swapaxes(0, 2),
        np.flip(array), np.flip(array, 1), np.fliplr(array), np.flipud(array), np.rot90(array), np.rot90(array, 2), np.rot90(array, 3), np.rot90(array, -3), np.moveaxis(array, -1, 0), np.expand_dims(array, 0),
        np.rollaxis(array, 2), np.swapaxes(array, 0, 1), array[4:9][:, 3:7][::-1].copy(), array.transpose(2, 0, 1).astype(np.float32), np.ascontiguousarray(array.T), np.copy(array[:, ::-1].T),
        grey, grey[:, ::-1], grey[..., None], grey[None, 2:9], grey.T, grey[:, :, np.newaxis] / 255, np.atleast_3d(grey), np.stack([grey, grey, grey], axis=-1), np.concatenate([array, array[:5]]),
        array.astype(np.uint8), array.astype("uint8", copy=False), array.astype(int), array.astype(np.float16), array.astype(bool), array.astype(np.float32, order="F"), array[1:1], array[:, 3:4], np.array([array, array]),
        np.asarray(array, dtype=np.float32), np.array(array[:, ::-1]), np.asarray(grey, order="F"), np.array(array, ndmin=4), array.reshape(-1, 3), array.ravel(), np.require(array.T, requirements="C"), array.view(np.int8),
        np.array(opened(path).convert("RGBA").resize((9, 8))), np.array(opened(path).resize((9, 8)).convert("LA"))[..., 0],
    ]  # fmt: skip
    told = [(each.shape, each.strides, each.dtype, each.flags.c_contiguous, each.flags.f_contiguous, each.flags.writeable, each.flags.owndata, each.base is None, each.nbytes, len(each)) for each in made]
    return made, told, array[3:9].base is array.base, np.shares_memory(array, array[3:9]), [type(each) == np.ndarray and isinstance(each, np.ndarray) for each in made]  # noqa: E721


def sums(path):
    """Arithmetic of every kind: what waits, and what does not."""
    array = np.array(opened(path).resize((13, 11)))
    real = array / 255
    single = array.astype(np.float32)
    with np.errstate(all="ignore"):
        made = [
            array + 1, array * 2, 300.0 - array, array - np.uint8(7), array + np.int64(7), array * np.float32(0.3), array * np.float64(0.3), array / np.float16(3), array // 2, array % 7, array**2, -single, +array, abs(single - 100),
            array @ np.eye(3), array > 100, array == array, array & 15, ~array, array << 1, np.square(real), np.sqrt(real), np.exp(real), np.clip(single, 10, 20), np.minimum(array, 99), np.maximum(single, 9.5), real * real, single - single,
            single / 0, (single * 1e36) * 1e36, (single - 500).astype(np.uint8), (single * 10).astype(np.uint8), (real * 255).astype(np.uint8), (single * 0.5).astype(np.int32), np.add(array, 1, dtype=np.float32), np.subtract(array, [1, 2, 3]),
            array + np.ones((11, 13, 3)), array * np.ones((13, 1)), np.ones(3) - array, [1.5, 2.5, 3.5] * single, array + True, np.add.reduce(array), array.sum(), array.mean(axis=(0, 1)), array.max(), array.min(), array.std(), float(array[0, 0, 0]),
            np.multiply(single, 2, out=single), np.transpose(array, (2, 0, 1)) - np.array([[[1]], [[2]], [[3]]]), np.array([1, 2, 3]) + array, divmod(array, 7), np.float32(2) * single, np.where(array > 9, array, 0), np.dot(real, [0.3, 0.6, 0.1]),
            np.mean(array), np.array_equal(array, array), bool((array >= 0).all()), np.unique(array).sum(), np.pad(array, ((1, 1), (1, 1), (0, 0))), np.bincount(array.ravel(), minlength=256), array.tolist()[0],
        ]  # fmt: skip
    return made


def written(path):
    """What is changed is seen by all that look at it."""
    image = opened(path).resize((12, 10))
    a = np.array(image)
    b, c = a[2:8], a.transpose(2, 0, 1)
    b[0] = 1
    c[0, 1] = 2
    d = np.array(image)
    e = d[::-1]
    d += 3
    f = np.array(image)
    g = torch.from_numpy(f)
    g.mul_(2)
    h = np.array(image).astype(np.float32)
    i = h.T
    h *= 2
    i -= 5
    said = []
    fixed = np.asarray(image)
    for act in (lambda: exec('fixed[0] = 1', {'fixed': fixed}), lambda: fixed.__iadd__(1), lambda: setattr(fixed.flags, "writeable", True), lambda: a.nothing, lambda: a[77], lambda: a + np.ones((3, 9)), lambda: np.array(image) + 300, lambda: a.transpose(0, 1), lambda: a.transpose(0, 0, 1), lambda: bool(a), lambda: a.__iadd__(0.5), lambda: torch.from_numpy(a[:, ::-1]), lambda: np.asarray(image, dtype="nothing"), lambda: np.moveaxis(a, 7, 0), lambda: setattr(a, "more", 1)):  # fmt: skip
        try:
            said.append(repr(act()))
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    j = np.array(image)
    j.shape = (10, 36)
    k = Image.fromarray(np.array(image.convert("L")))
    k.putpixel((0, 0), 9)
    image.putpixel((0, 0), (1, 2, 3))
    m = np.array(image)
    image.putpixel((1, 1), (7, 7, 7))
    return a, b, c, d, e, f, g, h, i, j, k, m, said


def letterboxed(path):
    """Laid on new arrays: in a corner, one over another, and on what is a picture itself."""
    image, small = np.array(opened(path).resize((30, 20))), np.asarray(opened(path).convert("L").resize((30, 20)))
    made = np.zeros((SIDE, SIDE, 3), dtype=image.dtype)
    made[: image.shape[0], : image.shape[1]] = image
    grey = np.full((SIDE, SIDE), 7, dtype="uint8")
    grey[3:23, 5:35] = small
    grey[10:30, :30] = small[:, ::-1]
    mixed = np.array(opened(path).resize((SIDE, SIDE)))
    mixed[10:30, 5:35] = image + np.uint8(9)
    pad = 255 - np.ones((24, 34, 3), np.uint8)
    pad[2:-2, 2:-2, :] = image
    return made.transpose(2, 0, 1) / 255, torch.from_numpy(grey)[None].float(), mixed[::-1].copy(), F.to_tensor(Image.fromarray(pad).resize((16, 16)))


def boxed_oddly(path):
    """New arrays of which a picture is laid into some, at other times or in other ways."""
    image, said, made = np.array(opened(path).resize((30, 20))), [], []
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[3:9, 4:30] = 1
    for number in range(4):
        looked = np.zeros((SIDE, SIDE, 3), np.uint8)
        looked[number : number + 20, :30] = image if number % 2 else image.copy().tolist()
        made.append(looked)
    shaped = np.full((21, 31, 3), 5, np.uint8)
    view, shaped[:20, :30] = shaped[:3], image
    single = np.ones((SIDE, SIDE, 3), np.uint8)
    single[5:6] = image[5:6, :1]
    try:
        single[:19, :30] = image
    except ValueError as error:
        said.append(str(error))
    both = np.full((40, 30, 3), 1, np.uint8)
    both[:20] = image
    half = both[10:30]
    both[20:] = image[::-1]
    half[...] = image
    numbers = np.zeros((SIDE, SIDE, 3), np.uint8)
    numbers[:20, :30] = image.astype(np.float32) / 2
    turned = np.zeros((30, 20, 3), np.uint8)
    turned[...] = image.transpose(1, 0, 2)
    banded = np.zeros((20, 30, 3), np.uint8)
    banded[:, :, 1] = image[..., 2]
    over = np.zeros((60, 60, 3), np.uint8)
    over[30:50, 30:] = image
    over[20:50:2, 30:] = over[35:50, 30:]
    image += 1
    told = [(each.shape, each.strides, each.dtype, each.flags.c_contiguous, each.flags.writeable, each.flags.owndata, each.base is None) for each in (mask, *made, shaped, single, both, numbers, turned, banded, over)]
    return mask, made, shaped, view, single, both, half, numbers, turned, banded, over, image, str(said), str(told)


def carried(path):
    """Sent, copied, kept in other things."""
    array = np.array(opened(path).resize((12, 10)))
    view = array[2:5]
    return {
        "pickled": pickle.loads(pickle.dumps((array, view), 5)), "deep": copy.deepcopy([array]), "copied": copy.copy(array), "bytes": array.tobytes(), "list": [array, [view]], "inside": ({"a": array},),
        "text": f"{array[0, :2]} {array!r:.60}", "order": sorted([array.shape, view.shape]), "set": len({id(array)}), "object": np.array([array, None], dtype=object)[0], "empty": np.empty_like(array).shape,
    }  # fmt: skip


class Kept(Dataset):
    """A data set that keeps what it made, as arrays and in tuples."""

    def __init__(self, root):
        self.data, self.kept, self.pairs = Pictures(root, None), {}, []

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        if index not in self.kept:
            self.kept[index] = np.array(opened(self.data.files[index][0]).resize((SIDE, SIDE)))
            self.pairs.append((index, self.kept[index][:5]))
        if len(self.pairs) > 7:
            strict(self.kept[self.pairs[0][0]])
            strict(self.pairs[0][1])
        return self.kept[index], torch.from_numpy(self.kept[index]).float() / 255


def strict(array):
    """A module in C that takes NumPy's own arrays, looked at past their protocols."""
    if type(array) is not np.ndarray:
        raise TypeError("argument 1 must be numpy.ndarray, not numpy.ndarray")
    return array


def caught(path):
    """An answer to what some of C raise."""
    array = np.array(opened(path).resize((SIDE, SIDE)))
    try:
        return torch.Tensor(array), np.random.default_rng(3).permutation(array), list(array)[0]
    except TypeError:
        return torch.zeros(3), array, array[0]


def lists_of(samples):
    """Of samples of several sizes."""
    return [torch.stack(column) if isinstance(column[0], torch.Tensor) and len({each.shape for each in column}) == 1 else list(column) for column in zip(*samples)]


PIPELINES = {
    "DiT": custom(lambda path: T.Compose([T.RandomHorizontalFlip(), *pipelines.TAIL])(dit(path))),
    "guided diffusion": custom(guided),
    "EDM": lambda root: (Edm(root), {}),
    "taming": custom(taming),
    "pix2pix": custom(pix2pix),
    "U-2-Net": lambda root: (U2net(root), {}),
    "segmented": lambda root: (Segmented(root, None), {}),
    "labelled": lambda root: (Labelled(root, None), {}),
    "labelled oddly": lambda root: (Odd(root, None), {}),
    "deep": lambda root: (Deep(root, lambda image: 0), {"collate_fn": lists_of}),
    "deep and others": lambda root: (Deep(root, others), {"collate_fn": list}),
    "Hugging Face": custom(hugging),
    "permuted": custom(lambda path: torch.from_numpy(np.array(opened(path).resize((SIDE, SIDE)))).permute(2, 0, 1) / 255),
    "normalized": custom(normalized),
    "tensors": custom(tensors, batch_size=3),
    "looks": custom(looks, collate_fn=list),
    "sums": custom(sums, collate_fn=list),
    "array written": custom(written, collate_fn=list),
    "letterboxed": custom(letterboxed),
    "boxed oddly": custom(boxed_oddly),
    "carried": custom(carried, collate_fn=list),
    "carried alone": lambda root: (Pictures(root, carried), {"batch_size": None}),
    "array kept": lambda root: (Kept(root), {"persistent_workers": True}),
    "taken by few": custom(lambda path: torch.from_numpy(strict(np.array(opened(path).resize((SIDE, SIDE)))).transpose(2, 0, 1) / 255)),
    "caught": custom(caught),
    "single array": lambda root: (Pictures(root, lambda path: np.array(opened(path).resize((SIDE, SIDE)))), {"batch_size": None}),
    "arrays of pictures": custom(lambda path: opened(path).resize((SIDE, SIDE)), collate_fn=lambda batch: torch.from_numpy(np.stack([np.array(image) for image, _ in batch])).permute(0, 3, 1, 2)),
}  # fmt: skip
pipelines.PIPELINES.update(PIPELINES)

if __name__ == "__main__":
    root = sys.argv[1]
    pipelines.make_images(root)
    json.dump({f"{name}/{workers}": pipelines.digests(name, root, workers) for name in PIPELINES for workers in (0, 2)}, sys.stdout)
