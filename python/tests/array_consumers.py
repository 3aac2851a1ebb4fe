"""Who reads an array's memory, and how: each gets what it would have got of a real one, or raises. Only what is installed."""

import array
import copy
import ctypes
import hashlib
import importlib
import io
import operator
import pickle
import random
import struct
import warnings
import zlib

import numpy as np
import torch
from numpy import array as bound_array
from numpy import asarray as bound_asarray
from numpy import ascontiguousarray as bound_contiguous
from PIL import Image
from torch import as_tensor as bound_as_tensor
from torch import from_numpy as bound_from_numpy
from torch import tensor as bound_tensor


def from_dlpack(a):
    """torch 2.11 ends the process over a negative stride."""
    return torch.from_dlpack(a) if min(a.strides) > 0 else None


def shuffled(a):
    np.random.RandomState(3).shuffle(a)
    return a


def shuffled_anew(a):
    np.random.default_rng(3).shuffle(a)
    return a


def put(a, act):
    act(a)
    return a


def stepped(a):
    with np.nditer(a, op_flags=["readwrite"]) as steps:
        for each in steps:
            each[...] = 255 - each
    return a


def saved(a, save):
    file = io.BytesIO()
    save(file, a)
    return hashlib.sha256(file.getvalue()).hexdigest() if save is not np.savez else len(file.getvalue())


def as_pointer(a):
    return bytes((ctypes.c_ubyte * a.nbytes).from_address(a.ctypes.data))


def as_interface(a):
    described = type("Described", (), {"__array_interface__": a.__array_interface__})()
    return np.array(described)


def dispatched(a):
    return from_dlpack(a), np.from_dlpack(a) if min(a.strides) > 0 else None


OF_NUMPY = {
    "array": bound_array, "asarray": bound_asarray, "ascontiguousarray": bound_contiguous, "asfortranarray": np.asfortranarray, "float32": np.float32, "array of a list": lambda a: bound_array([a, a]),
    "array of objects": lambda a: np.array([a, None], dtype=object)[0], "frombuffer": lambda a: np.frombuffer(a, np.uint8), "add.at": lambda a: put(a, lambda a: np.add.at(a, (0, 0), 1)), "reduce": lambda a: np.add.reduce(a, axis=1), "accumulate": np.maximum.accumulate,
    "outer": lambda a: np.multiply.outer(a[:2, :2, 0], a[:2, :2, 1]), "einsum": lambda a: np.einsum("hwc,hwc->hw", a, a), "tensordot": lambda a: np.tensordot(a, a), "copyto": lambda a: put(a, lambda a: np.copyto(a, 7)), "copyto of": lambda a: put(np.zeros(a.shape), lambda b: np.copyto(b, a)),
    "out": lambda a: np.add(a, 1, out=a), "sum out": lambda a: np.sum(a, 0, out=np.zeros(a.shape[1:], int)), "putmask": lambda a: put(a, lambda a: np.putmask(a, np.ones(a.shape, bool), 3)), "place": lambda a: put(a, lambda a: np.place(a, np.ones(a.shape, bool), [1, 2])), "put": lambda a: put(a, lambda a: np.put(a, [0, 5], [9, 8])),
    "fill_diagonal": lambda a: put(a[:, :, 0][:3, :3], lambda a: np.fill_diagonal(a, 1)), "svd": lambda a: np.linalg.svd(a[:, :, 0], compute_uv=False), "fft": lambda a: np.fft.fft2(a, axes=(0, 1)), "as_strided": lambda a: np.lib.stride_tricks.as_strided(a, (4,), (1,)), "sliding": lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2, 3)).sum(),
    "unbound": lambda a: np.ndarray.sum(a), "unbound view": lambda a: np.ndarray.transpose(a), "nditer": lambda a: [int(x) for x in np.nditer(a)], "nditer written": stepped, "ndenumerate": lambda a: list(np.ndenumerate(a))[:5], "broadcast": lambda a: np.broadcast(a, a).shape, "broadcast_to": lambda a: np.broadcast_to(a, (2, *a.shape)), "packbits": np.packbits,
    "bincount": lambda a: np.bincount(a.ravel()), "searchsorted": lambda a: np.searchsorted([1, 9], a), "digitize": lambda a: np.digitize(a, [9, 99]), "histogram": lambda a: np.histogram(a)[0], "save": lambda a: saved(a, np.save), "savez": lambda a: saved(a, np.savez), "vectorize": lambda a: np.vectorize(lambda x: x + 1)(a), "dlpack": dispatched, "dlpack, a negative stride": lambda a: np.from_dlpack(a) if min(a.strides) < 0 else None,
    "shuffle": shuffled, "shuffle of a generator": shuffled_anew, "permutation": lambda a: np.random.default_rng(3).permutation(a), "permuted": lambda a: np.random.default_rng(3).permuted(a, axis=0), "choice": lambda a: np.random.default_rng(3).choice(a, 4), "poisson": lambda a: np.random.RandomState(3).poisson(a), "setitem": lambda a: put(np.zeros(a.shape), lambda b: b.__setitem__(slice(None), a)),
    "index by it": lambda a: (np.arange(256)[::-1] * 3)[a], "index by a part": lambda a: np.arange(256)[a[:, :, 0]], "take": lambda a: np.take(np.arange(256), a), "where": lambda a: np.where(a), "pad": lambda a: np.pad(a, 1), "tile": lambda a: np.tile(a, (2, 1, 1)), "kron": lambda a: np.kron(a[:2, :2, 0], np.ones((2, 2))), "interp": lambda a: np.interp(a, [0, 255], [0, 1]),
    "matmul": lambda a: a @ np.eye(3), "rmatmul": lambda a: np.eye(11) @ a[:, :, 0], "masked": lambda a: np.ma.masked_less(a, 100).sum(), "matrix": lambda a: np.asmatrix(a[:, :, 0]), "record": lambda a: np.rec.fromarrays([a[:, 0, 0]]).f0, "memmap": lambda a: np.shares_memory(a, a[1:]), "interface": as_interface, "pointer": as_pointer, "struct": lambda a: np.array(type("S", (), {"__array_struct__": a.__array_struct__})()),
    "setstate": lambda a: put(np.empty(0), lambda b: b.__setstate__(a.__reduce__()[2])), "concatenate": lambda a: np.concatenate([a, a], axis=2), "block": lambda a: np.block([[a], [a]]), "select": lambda a: np.select([a > 9], [a]), "apply": lambda a: np.apply_along_axis(np.sum, 0, a), "isin": lambda a: np.isin(a, [1, 2]), "testing": lambda a: np.testing.assert_array_equal(a, a), "printed": lambda a: np.array2string(a),
}  # fmt: skip
OF_PYTHON = {
    "memoryview": lambda a: memoryview(a).tobytes(), "bytes": bytes, "bytearray": bytearray, "array": lambda a: array.array("B", a), "sha256": lambda a: hashlib.sha256(np.ascontiguousarray(a)).hexdigest(), "crc32": zlib.crc32, "compress": zlib.compress, "write": lambda a: saved(a, io.BytesIO.write), "readinto": lambda a: put(a, lambda a: io.BytesIO(bytes(range(99))).readinto(a)),
    "pack": lambda a: struct.pack("B", a), "unpack_from": lambda a: struct.unpack_from("4B", a), "pack_into": lambda a: put(a, lambda a: struct.pack_into("B", a, 0, 7)), "from_bytes": lambda a: int.from_bytes(a, "big"), "c_char": lambda a: bytes((ctypes.c_char * a.nbytes).from_buffer(a)), "PickleBuffer": lambda a: bytes(pickle.PickleBuffer(a)), "join": lambda a: b"".join([a]),
    "pickle": lambda a: [pickle.loads(pickle.dumps(a, protocol)) for protocol in range(6)], "copy": copy.copy, "deepcopy": copy.deepcopy, "list": list, "tuple": tuple, "sum": sum, "max": lambda a: max(a, key=lambda row: row.sum()), "zip": lambda a: list(zip(a, a)), "enumerate": lambda a: list(enumerate(a)), "map": lambda a: list(map(np.sum, a)), "reversed": lambda a: list(reversed(a)),
    "rows": lambda a: [row.sum() for row in a], "unpack": lambda a: [*a], "first": lambda a: a[0], "getitem": lambda a: operator.getitem(a, 0), "itemgetter": lambda a: operator.itemgetter(1, 2)(a), "random.shuffle": lambda a: put(a, random.Random(3).shuffle), "random.choice": lambda a: random.Random(3).choice(a), "contains": lambda a: 7 in a, "tobytes": lambda a: a.tobytes(), "tolist": lambda a: a.tolist(),
    "format": lambda a: f"{a}", "repr": repr, "len": len, "bool": bool, "float": float, "index": operator.index, "round": lambda a: round(a[0, 0, 0]), "divmod": lambda a: divmod(a, 7), "eval": lambda a: eval("a[1:3] + 1", {"a": a}), "dir": dir, "sizeof": lambda a: a.__sizeof__(), "flat": lambda a: list(a.flat)[:9], "data": lambda a: bytes(a.data), "real": lambda a: a.real, "class": lambda a: a.__class__,
}  # fmt: skip
OF_TORCH = {
    "from_numpy": bound_from_numpy, "as_tensor": bound_as_tensor, "tensor": bound_tensor, "asarray": lambda a: torch.asarray(a), "bound asarray": torch.asarray, "Tensor": torch.Tensor, "FloatTensor": torch.FloatTensor, "LongTensor": torch.LongTensor, "new_tensor": lambda a: torch.zeros(1).new_tensor(a), "new": lambda a: torch.zeros(1).new(a), "from_dlpack": from_dlpack, "frombuffer": lambda a: torch.frombuffer(a, dtype=torch.uint8),
    "of a list": lambda a: torch.tensor([a, a]), "as_tensor of a list": lambda a: torch.as_tensor([a, a]), "stack": lambda a: torch.stack([torch.as_tensor(each) for each in (a, a)]), "times": lambda a: torch.full(a.shape, 2.0) * a, "turned": lambda a: a * torch.full(a.shape, 2.0), "add": lambda a: torch.add(torch.ones(a.shape), a), "index": lambda a: torch.arange(256)[a], "setitem": lambda a: put(torch.zeros(a.shape), lambda t: t.__setitem__(Ellipsis, a)),
    "copy_": lambda a: put(torch.zeros(a.shape), lambda t: t.copy_(a)), "where": lambda a: torch.where(a), "BytesIO": lambda a: saved(a, lambda file, a: torch.save({"a": torch.as_tensor(a)}, file) or file.truncate(0)), "collate": lambda a: torch.utils.data.default_collate([a, a]), "convert": lambda a: torch.utils.data.default_convert(a), "fromarray": Image.fromarray, "frombuffer of Pillow": lambda a: Image.frombuffer("RGB", a.shape[1::-1], a),
    "frombytes": lambda a: Image.frombytes("RGB", a.shape[1::-1], a), "putdata": lambda a: put(Image.new("L", (13, 11)), lambda image: image.putdata(a[:, :, 0].ravel())),
}  # fmt: skip


def _of(module, **consumers):
    try:
        found = importlib.import_module(module)
    except ImportError:
        return {}
    return {f"{module} {name}": lambda a, act=act: act(found, a) for name, act in consumers.items()}


def _of_others():
    ones = np.ones((2, 2))
    return {
        **_of("cv2", resize=lambda cv, a: cv.resize(a, (7, 5)), flip=lambda cv, a: cv.flip(a, 1), cvtColor=lambda cv, a: cv.cvtColor(a, cv.COLOR_RGB2GRAY), merge=lambda cv, a: cv.merge([a, a]), merge_of_it=lambda cv, a: cv.merge(a), add=lambda cv, a: cv.add(np.ones(a.shape, np.uint8), a),
              dst=lambda cv, a: cv.flip(np.ones(a.shape, np.uint8), 0, a), imencode=lambda cv, a: cv.imencode(".png", a)[1], LUT=lambda cv, a: cv.LUT(np.zeros((2, 2), np.uint8), a[:, :, 0].reshape(-1)[:256]), border=lambda cv, a: cv.copyMakeBorder(np.ones((4, 4, 3), np.uint8), 1, 1, 1, 1, 0, value=a[0, 0]), points=lambda cv, a: cv.boundingRect(a[:, :2, 0].astype(np.int32)),
              filter=lambda cv, a: cv.filter2D(np.ones((9, 9), np.float32), -1, a[:3, :3, 0]), rectangle=lambda cv, a: cv.rectangle(a, (1, 1), (5, 5), (9, 9, 9)), scalar=lambda cv, a: cv.rectangle(np.zeros((9, 9, 3), np.uint8), (1, 1), (5, 5), a)),
        **_of("scipy.ndimage", zoom=lambda s, a: s.zoom(a, (2, 2, 1), order=1), label=lambda s, a: s.label(a)[1], gaussian=lambda s, a: s.gaussian_filter(a, 1), output=lambda s, a: s.gaussian_filter(np.ones(a.shape), 1, output=a), mapped=lambda s, a: s.map_coordinates(a[:, :, 0], ones, order=1), distance=lambda s, a: s.distance_transform_edt(a > 99)),
        **_of("scipy.sparse", csr=lambda s, a: s.csr_matrix(a[:, :, 0]).toarray(), times=lambda s, a: s.eye(11) @ a[:, :, 0]),
        **_of("scipy.signal", convolve=lambda s, a: s.convolve2d(a[:, :, 0], ones)), **_of("scipy.linalg", svd=lambda s, a: s.svdvals(a[:, :, 0])), **_of("scipy.fft", dct=lambda s, a: s.dct(a, axis=0)), **_of("scipy.interpolate", spline=lambda s, a: s.RectBivariateSpline(range(11), range(13), a[:, :, 0])(1.5, 2.5)),
        **_of("skimage.transform", resize=lambda s, a: s.resize(a, (7, 5)), rotate=lambda s, a: s.rotate(a, 20), warp=lambda s, a: s.warp(a, np.eye(3))), **_of("skimage.color", lab=lambda s, a: s.rgb2lab(a), grey=lambda s, a: s.rgb2gray(a)), **_of("skimage.exposure", clahe=lambda s, a: s.equalize_adapthist(a[:, :, 0], 4)),
        **_of("skimage.measure", label=lambda s, a: s.label(a[:, :, 0] > 99), contours=lambda s, a: s.find_contours(a[:, :, 0], 99)), **_of("skimage.segmentation", slic=lambda s, a: s.slic(a, 3)), **_of("skimage.filters", median=lambda s, a: s.rank.median(a[:, :, 0])), **_of("skimage.util", floats=lambda s, a: s.img_as_float(a)), **_of("skimage.io", save=lambda s, a: s.concatenate_images([a, a])),
        **_of("numba", njit=lambda n, a: n.njit(lambda a: a.sum())(a), vectorize=lambda n, a: n.vectorize(lambda x: x + 1)(a), inside=lambda n, a: n.njit(lambda: np.array([1, 2]) + np.asarray([3, 4]) + np.zeros(2, np.uint8) + np.full(2, 3) + np.ones(2, np.uint8))()),
        **_of("pandas", frame=lambda p, a: p.DataFrame(a[:, :, 0]).to_numpy(), series=lambda p, a: p.Series(a[:, :, 0].ravel()).sum(), column=lambda p, a: p.DataFrame({"a": list(a[:, 0, 0])}).to_numpy(), unique=lambda p, a: p.unique(a[:, :, 0].ravel()), column_of_it=lambda p, a: p.DataFrame({"a": a[:, :, 0]}), categories=lambda p, a: p.cut(a[:, 0, 0], 3).codes),
        **_of("imageio.v3", write=lambda i, a: i.imwrite("<bytes>", a, extension=".png")), **_of("albumentations", flip=lambda m, a: m.HorizontalFlip(p=1)(image=a)["image"], normalize=lambda m, a: m.Normalize()(image=a)["image"], resize=lambda m, a: m.Resize(7, 5)(image=a)["image"]),
        **_of("pyarrow", array=lambda p, a: p.array(a[:, :, 0].ravel()).to_numpy(), tensor=lambda p, a: p.Tensor.from_numpy(a).to_numpy(), buffer=lambda p, a: p.py_buffer(a).to_pybytes()), **_of("h5py", write=lambda h, a: h.File(io.BytesIO(), "w").create_dataset("a", data=a)[:]),
        **_of("contourpy", lines=lambda c, a: c.contour_generator(z=a[:, :, 0]).lines(99)), **_of("xxhash", digest=lambda x, a: x.xxh64_hexdigest(a)), **_of("orjson", dumps=lambda o, a: o.dumps(a, option=o.OPT_SERIALIZE_NUMPY)),
        **_of("lz4.frame", compress=lambda z, a: z.compress(a)), **_of("zstandard", compress=lambda z, a: z.ZstdCompressor().compress(a)), **_of("msgpack", packb=lambda m, a: m.packb(memoryview(a).cast("B"))),
    }  # fmt: skip


def consumers():
    return {f"{kind} {name}": act for kind, of in (("numpy", OF_NUMPY), ("python", OF_PYTHON), ("torch", OF_TORCH), ("other", _of_others())) for name, act in of.items()}


def outcome(act, a):
    """What it gives, or what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return act(a), None
        except Exception as error:
            return None, error
