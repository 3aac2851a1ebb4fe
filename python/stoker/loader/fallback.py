"""The batches of a spec computed by Pillow in this process, while no daemon runs.

Samples, order, crops and bytes equal the daemon's: see feed/transform and feed/batch.go. It is
slow, and lasts only until another daemon runs.
"""

from __future__ import annotations

import collections
import concurrent.futures
import errno
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._verbs import StokerError
from ..daemon.ring import DTYPES, Loans
from ..daemon.session import Delivery
from . import order as _order
from .pack import Shards, is_pack

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..daemon.ring import Ring

_IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
_SUBSTITUTES = 64
_MAX_BAD = 0.001

# Errors that are never a file's fault, as in feed/source's IsOutage.
_OUTAGES = {
    getattr(errno, name)
    for name in (
        "EMFILE ENFILE ENOMEM ENOBUFS EAGAIN EINTR EBUSY ENOLCK ENOSPC EDQUOT EFBIG EROFS ESTALE ETIMEDOUT ENOTCONN "
        "ECONNABORTED ECONNREFUSED"
        " ECONNRESET EPIPE ESHUTDOWN EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH ENETRESET EADDRNOTAVAIL"
    ).split()
}


class Impossible(Exception):
    """Pillow cannot continue for the daemon; the message says why."""


class PillowSession:
    """Replaces a Session, from what the daemon said when it was opened."""

    def __init__(
        self, spec: dict[str, Any], rank: int, given: bytes, opened: dict[str, Any], ring: Ring, fence: Callable[[], Any]
    ) -> None:
        try:
            import PIL.Image
        except ImportError:
            raise Impossible("there is no Pillow") from None
        if spec["root"].startswith("s3://"):
            raise Impossible("its pictures are in a bucket")
        self._pack = Shards(spec["root"].rstrip("/")) if is_pack(spec["root"]) else None
        if self._pack is not None and not given:
            raise Impossible("its pictures lie in a pack")
        self._filters = {"bilinear": PIL.Image.Resampling.BILINEAR, "bicubic": PIL.Image.Resampling.BICUBIC}
        self.opened, self.ring, self.run, self.computed = opened, _Ring(ring), 0, 0
        self._spec, self._rank = spec, rank
        self._files = _decode_list(spec["root"], given) if given else _list_folder(spec, opened["manifest"])
        subset = spec.get("samples")
        if subset is not None:
            self._files = [self._files[i] for i in subset]
        self._plan = _order.Plan(len(self._files), spec["world"], spec["batch"], spec["tail"])
        self._table = _make_table(spec)
        self._batches: Iterator[dict[str, Any]] = iter(())
        self._accounts: dict[int, Any] = {}
        self._threads = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        self.loans = Loans(lambda slot: None, fence)

    # The interface of a Session.

    def start(
        self,
        epoch: int,
        consumed: int,
        bad: int,
        done: int = 0,
        samples: int = 0,
        digest: str = "0" * 32,
        once: bool = False,
    ) -> None:
        self.run += 1
        self._bad = bad
        self._account = self._accounts[self.run] = {
            "from": consumed,
            "samples": samples,
            "digest": digest,
            "bad": 0,
            "epoch": epoch,
        }
        self._batches = self._yield_epoch(epoch, consumed, done)

    def take_if_there(self) -> Delivery | None:
        self.loans.poll()
        return None

    def take(self, awaited: str) -> Delivery:
        packet = next(self._batches)
        self.computed += 1
        self._merge(self._account, packet)
        return Delivery(packet, packet.pop("memory"))

    def report(self, run: int, epoch: int, ending: bool = False) -> dict[str, Any] | None:
        found = self._accounts.get(run)
        if found is None:
            return None
        expected = self._compute_expected(found["epoch"], found["from"])
        right = found["digest"] == expected
        once = right if not right or (self._plan.world == 1 and found["from"] == 0) else None
        return {name: found[name] for name in ("from", "samples", "digest", "bad")} | {
            "expected": expected,
            "exactly_once": once,
            "inexact": 0,
        }

    def give_up(self, error: Exception) -> None:
        self.close()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    # Batches.

    def _make_order(self, epoch: int) -> Callable[[int], int]:
        return _order.permutation(self._spec["seed"], epoch, self._plan.samples) if self._spec["shuffle"] else int

    def _compute_expected(self, epoch: int, consumed: int) -> str:
        order, steps = self._make_order(epoch), range(self._plan.steps(consumed))
        return _order.digest(
            order(at) for step in steps for at, padding in self._plan.take(consumed, step, self._rank) if not padding
        )

    def _merge(self, account: dict[str, Any], packet: dict[str, Any]) -> None:
        account["digest"] = _order.join_digests(account["digest"], packet["digest"])
        account["samples"] += packet["samples"]
        account["bad"] += len(packet["bad"])

    def _yield_epoch(self, epoch: int, consumed: int, done: int) -> Iterator[dict[str, Any]]:
        order = self._make_order(epoch)
        for step in range(done, self._plan.steps(consumed)):
            yield self._make_batch(epoch, consumed, step, order)

    def _make_batch(self, epoch: int, consumed: int, step: int, order: Callable[[int], int]) -> dict[str, Any]:
        """Compute a batch in new memory. Returns its packet."""
        places = self._plan.take(consumed, step, self._rank)
        memory = np.zeros(self.opened["ring"]["slot_bytes"], np.uint8)
        images, labels = self.ring.fields(memory, len(places))
        futures = [self._threads.submit(self._load_sample, epoch, order(position)) for position, _ in places]
        indices, mask, bad = (
            np.zeros(len(places), np.int64),
            [i for i, (_, padding) in enumerate(places) if padding],
            [],
        )
        for i, (position, padding) in enumerate(places):
            sample = order(position)
            value = futures[i].result()
            if isinstance(value, Exception):
                sample, value, found = self._replace_bad(epoch, position, order, value)
                bad += [] if padding else [found]
                if value is None:
                    mask += [] if padding else [i]
            if value is not None:
                images[i] = value
            labels[i], indices[i] = self._files[sample][1], sample
        if bad:
            self._count_bad(epoch, bad)
        own = [order(position) for position, padding in places if not padding]
        slot = self.computed
        self.ring.numbers[slot] = bytearray(indices.tobytes())
        packet = {
            "run": self.run,
            "epoch": epoch,
            "step": step,
            "slot": slot,
            "count": len(places),
            "mask": sorted(mask),
            "bad": bad,
            "memory": memory,
        }
        return packet | {
            "consumed": self._plan.after(consumed, step),
            "bad_so_far": self._bad,
            "samples": len(own),
            "digest": _order.digest(own),
        }

    def _replace_bad(
        self, epoch: int, position: int, order: Callable[[int], int], error: Exception
    ) -> tuple[int, Any, dict[str, Any]]:
        """Replace a bad sample. Returns the other's index, its pixels or None, and the report on
        the bad one."""
        own = order(position)
        path = self._files[own][0]
        if self._spec["on_error"] == "fail":
            raise StokerError(f"bad sample {own}: {path}: {error}") from error
        found: dict[str, Any] = {"index": own, "path": path, "reason": str(error), "kind": "damaged"}
        if self._spec["on_error"] == "mask":
            return own, None, found
        for k in range(1, min(_SUBSTITUTES, self._plan.samples - 1) + 1):
            other = order(_order.substitute(position, k, self._plan.samples))
            value = self._load_sample(epoch, other)
            if not isinstance(value, Exception):
                return other, value, {**found, "instead": other}
        raise StokerError(f"bad sample {own}, and so are all that could stand in for it: {path}: {error}") from error

    def _count_bad(self, epoch: int, bad: list[dict[str, Any]]) -> None:
        self._bad += len(bad)
        share = self._spec.get("max_bad") or _MAX_BAD
        if self._bad > max(1, int(share * self._plan.samples)):
            raise StokerError(
                f"{self._bad} bad samples in epoch {epoch} of {self._plan.samples} samples, more than max_bad "
                f"= {share} allows: the last one is {bad[-1]['path']}"
            )

    # Pixels.

    def _load_sample(self, epoch: int, sample: int) -> Any:
        """Return the pixels of a sample, or the exception that it raised."""
        from PIL import Image

        try:
            path = self._files[sample][0]
            with Image.open(path if self._pack is None else io.BytesIO(self._pack.read(path))) as opened:
                if opened.width * opened.height > (self._spec.get("max_pixels") or 178_956_970):
                    raise ValueError(f"{opened.width} x {opened.height} pixels are too many")
                image = opened.convert("RGB")
            for number, op in enumerate(self._spec["ops"]):
                image = self._apply(image, op, _order.Draws(self._spec["seed"], epoch, sample, number))
            pixels = np.asarray(image)
            return (
                self._table[np.arange(3), pixels].transpose(2, 0, 1)
                if self._table is not None
                else pixels.transpose(2, 0, 1)
            )
        except Exception as error:
            if isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno in _OUTAGES:
                raise  # as in the script alone: the sample itself may be sound
            return error

    def _apply(self, image: Image, op: dict[str, Any], draws: _order.Draws) -> Any:
        from PIL import Image

        name, size = op["op"], op.get("size", ())
        filter = self._filters[op.get("filter") or "bilinear"]
        if name == "resize":
            return image.resize(_compute_size(image.size, op), filter)
        if name == "center_crop":
            height, width = size[0], size[-1]
            left, top = _centre(image.width, width), _centre(image.height, height)
            return image.crop((left, top, left + width, top + height))
        if name == "random_resized_crop":
            left, top, w, h = _order.resized_crop(
                draws, *image.size, *(tuple(op[key]) if key in op else usual for key, usual in _USUAL)
            )
            return image.crop((left, top, left + w, top + h)).resize((size[-1], size[0]), filter)
        if name == "random_crop":
            return _random_crop(image, op, draws)
        if name in ("random_horizontal_flip", "random_vertical_flip"):
            p = op.get("p")
            across = Image.Transpose.FLIP_LEFT_RIGHT if "horizontal" in name else Image.Transpose.FLIP_TOP_BOTTOM
            return image.transpose(across) if _order.flip(draws, 0.5 if p is None else p) else image
        return image  # numbers are handled by _numbers


_USUAL = (("scale", (0.08, 1.0)), ("ratio", (3 / 4, 4 / 3)))


class _Ring:
    """The arrays of a Ring, over new memory for each batch."""

    def __init__(self, ring: Ring) -> None:
        self.slots: int = ring.slots
        self.fields = ring.fields
        self.memory = np.zeros(0, np.uint8)
        self.numbers: dict[int, bytearray] = collections.OrderedDict()

    def indices(self, number: int, count: int) -> bytearray:
        return self.numbers.pop(number)


def _compute_size(size: tuple[int, int], op: dict[str, Any]) -> tuple[int, int]:
    """Compute a size as torchvision's _compute_resized_image_output_size does."""
    wanted = op["size"]
    if len(wanted) == 2:
        return wanted[1], wanted[0]
    short, long = min(size), max(size)
    to, most = wanted[0], op.get("max_size")
    other = int(to * long / short)
    if most and other > most:
        to, other = int(most * to / other), most
    return (to, other) if size[0] <= size[1] else (other, to)


def _centre(have: int, want: int) -> int:
    return -((want - have) // 2) if have < want else round((have - want) / 2)


def _random_crop(image: Image, op: dict[str, Any], draws: _order.Draws) -> Any:
    from PIL import Image

    h, w = op["size"][0], op["size"][-1]
    left, top, right, bottom = op.get("padding") or (0, 0, 0, 0)
    width, height = left + image.width + right, top + image.height + bottom
    if op.get("pad_if_needed"):
        x, y = max(0, w - width), max(0, h - height)
        left, top, width, height = left + x, top + y, width + 2 * x, height + 2 * y
    if width < w or height < h:
        raise ValueError(
            f"random_crop of {w} x {h} pixels from an image of {width} x {height} (with its padding): it is too small"
        )
    fill = [int(value) for value in op.get("fill") or (0,)]
    canvas = Image.new("RGB", (width, height), tuple(fill * 3 if len(fill) == 1 else fill))
    canvas.paste(image, (left, top))
    at = _order.crop(draws, width, height, w, h)[:2] if (width, height) != (w, h) else (0, 0)
    return canvas.crop((*at, at[0] + w, at[1] + h))


def _make_table(spec: dict[str, Any]) -> np.ndarray | None:
    """Return what each value of each channel becomes, as (channel, value); None if it stays.

    feed/transform/tensor.go does the same.
    """
    dtype = spec["output"]["dtype"]
    if dtype == "uint8":
        return None
    normalize = next((op for op in spec["ops"] if op["op"] == "normalize"), {})
    mean, std = (
        np.resize(np.array(normalize.get(name, usual), np.float32), 3)[:, None]
        for name, usual in (("mean", [0]), ("std", [1]))
    )
    values = (np.arange(256, dtype=np.float32) / np.float32(255) - mean) / std
    if dtype == "bfloat16":
        bits = values.view(np.uint32)
        return (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16)).astype(np.uint16)
    return values.astype(DTYPES[dtype])


def _decode_list(root: str, given: bytes) -> list[tuple[str, int]]:
    """Decode paths and labels of a list that Samples.encode wrote."""
    count = int.from_bytes(given[:8], "little")
    labels = np.frombuffer(given, "<i8", count, 8)
    paths = given[8 + 8 * count :].split(b"\0")[:count]
    return [(os.path.join(root, os.fsdecode(path)), int(label)) for path, label in zip(paths, labels)]


def _list_folder(spec: dict[str, Any], manifest: str) -> list[tuple[str, int]]:
    """List the paths and labels of a folder. Raises Impossible if the daemon listed others."""
    root, known = spec["root"], tuple(spec.get("extensions", _IMAGES))
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    files, runs = [], []
    for label, name in enumerate(classes):
        for folder, _, names in sorted(os.walk(os.path.join(root, name), followlinks=True)):
            names = sorted(each for each in names if each.lower().endswith(known))
            files += [(os.path.join(folder, each), label) for each in names]
            runs += [(os.path.relpath(folder, root) + "/", names)] if names else []
    if _compute_manifest(classes, runs, spec.get("samples")) != manifest:
        raise Impossible("its files are not those that the daemon listed")
    return files


def _compute_manifest(classes: list[str], runs: list[tuple[str, list[str]]], subset: list[int] | None) -> str:
    """Compute feed/source's Folder.Digest and feed's manifestDigest."""
    seen = hashlib.sha256(b"stoker manifest 1\n" + len(classes).to_bytes(8, "little"))
    for name in classes:
        seen.update(len(os.fsencode(name)).to_bytes(8, "little") + os.fsencode(name))
    for path, names in runs:
        data = [os.fsencode(name) for name in names]
        ends = np.cumsum([len(name) for name in data]).astype("<u4").tobytes()
        seen.update(
            len(os.fsencode(path)).to_bytes(8, "little")
            + os.fsencode(path)
            + len(names).to_bytes(8, "little")
            + ends
            + b"".join(data)
        )
    digest = seen.digest()
    if subset is not None:
        digest = hashlib.sha256(digest + json.dumps(subset, separators=(",", ":")).encode()).digest()
    return digest.hex()[:32]
