"""stoker.Loader: batches as NumPy arrays, for any framework."""

from __future__ import annotations

import importlib.metadata
import math
import numbers
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._place import here
from .._verbs import StokerError
from .._warning import warn
from .position import Feeder, Which

TAILS = ("drop", "pad", "short", "even", "trim", "even-drop")
POLICIES = ("fail", "substitute", "mask")


class Batch:
    """One batch: `images, labels = batch` unpacks it.

    Images and labels are in the ring's memory. They stay valid while something refers to them, can
    be written to, and go to other frameworks by DLPack without a copy.
    """

    __slots__ = ("_which", "epoch", "images", "labels")

    def __init__(self, epoch: int, images: np.ndarray, labels: np.ndarray, which: Which) -> None:
        self.epoch = epoch
        self.images = images  # batch, channel, row, column; bfloat16 as the bits of uint16
        self.labels = labels  # int64
        self._which = which

    @property
    def indices(self) -> np.ndarray:
        """The numbers of the samples in the data set, or in samples= if that was given; int64."""
        return self._which.indices

    @property
    def mask(self) -> np.ndarray:
        """True for samples that count in training."""
        return self._which.mask

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.images, self.labels))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, which: int) -> np.ndarray:
        return (self.images, self.labels)[which]


class Loader:
    """Images of a folder with one subfolder per class, in batches of NumPy arrays.

    The transforms are given as ops, a list of dictionaries (docs/loader.md), or as a torchvision
    transform that can be translated. The other arguments are those of stoker.DataLoader.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        ops: Sequence[dict[str, Any]] | None = None,
        *,
        batch_size: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        transform: Callable[[Any], Any] | None = None,
        dtype: str | None = None,
        channels_last: bool = False,
        tail: str = "short",
        drop_last: bool = False,
        samples: Sequence[int] | None = None,
        extensions: Sequence[str] | None = None,
        allow_empty: bool = False,
        on_error: str = "fail",
        max_bad: float | None = None,
        max_pixels: int | None = None,
        rank: int | None = None,
        world: int | None = None,
        num_workers: int | None = None,
        nice: int | None = None,
        depth: int | None = None,
        timeout: float = 0,
        name: str | None = None,
        record: str | os.PathLike[str] | None = None,
        quarantine: str | os.PathLike[str] | None = None,
    ) -> None:
        place = here(rank, world)
        self.batch_size = batch_size
        spec = make_spec(
            root=root,
            ops=list(ops) if ops is not None else _translate_all(transform),
            batch=batch_size,
            shuffle=shuffle,
            seed=seed,
            dtype=dtype,
            channels_last=channels_last,
            tail="drop" if drop_last else tail,
            samples=samples,
            on_error=on_error,
            max_bad=max_bad,
            max_pixels=max_pixels,
            depth=depth,
            name=name,
        )
        if extensions is not None:
            spec["extensions"] = list(extensions)
        if allow_empty:
            spec["allow_empty"] = True
        self._feeder = Feeder(
            spec,
            place,
            make_options(num_workers, place.local_world, nice, record, quarantine),
            timeout or math.inf,
            warn,
        )
        self._end = weakref.finalize(self, Feeder.close, self._feeder)

    def __len__(self) -> int:
        """Return the steps of an epoch, on every rank."""
        return self._feeder.steps(self._feeder.open().opened["samples"])

    @property
    def classes(self) -> list[str]:
        """The names of the classes; a label is an index into them."""
        return self._feeder.open().opened["classes"]

    def __iter__(self) -> Iterator[Batch]:
        """Begin an iteration: of the next epoch, or where set_epoch, skip or load_state_dict say."""
        return _Batches(self, self._feeder)

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration one of this epoch."""
        self._feeder.set_epoch(epoch)

    def skip(self, batches: int) -> None:
        """Leave out batches of the current iteration, or of the next one."""
        self._feeder.skip(batches)

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the last batch that was handed out."""
        return self._feeder.state()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state in the next iteration; rank and world may have changed."""
        self._feeder.load(state)

    @property
    def report(self) -> dict[str, Any] | None:
        """The report of the last whole epoch; None before its end, and while one of its batches is
        held."""
        return self._feeder.report()

    def close(self) -> None:
        """End the session with the daemon. Batches that are held stay valid."""
        self._feeder.close()

    def __reduce__(self) -> Any:
        raise TypeError("a stoker loader cannot be copied or sent to another process: make one there")

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Batches(Iterator[Batch]):
    """One iteration."""

    def __init__(self, loader: Loader, feeder: Feeder) -> None:
        self._loader = loader  # the session ends with the loader
        self._feeder = feeder
        self._iteration = feeder.begin()
        self._over = False

    def __next__(self) -> Batch:
        feeder = self._feeder
        if self._over:
            raise StopIteration
        left = feeder.count_left(self._iteration)
        if left == 0:
            self._over = True
            feeder.mark_over()
            raise StopIteration
        delivery = feeder.take()
        assert delivery is not None
        which = feeder.which(delivery)
        images, labels = feeder.hold(delivery, last=left == 1)
        feeder.mark_handed(delivery)
        return Batch(delivery.packet["epoch"], images, labels, which)


def make_spec(
    *,
    root: str | os.PathLike[str],
    ops: list[dict[str, Any]],
    batch: int,
    shuffle: bool,
    seed: int,
    dtype: str | None,
    channels_last: bool,
    tail: str,
    samples: Sequence[int] | None,
    on_error: str,
    max_bad: float | None,
    max_pixels: int | None,
    depth: int | None,
    name: str | None,
) -> dict[str, Any]:
    """Return the fields of feed.Spec, without the world."""
    if not isinstance(batch, numbers.Integral) or batch < 1:
        raise ValueError(f"batch_size {batch!r}: expected a whole number, 1 or more")
    _check_choice("tail", tail, TAILS)
    _check_choice("on_error", on_error, POLICIES)
    floats = any(op.get("op") == "to_tensor" for op in ops)
    if dtype is None:
        dtype = "float32" if floats else "uint8"
    _check_choice("dtype", dtype, ("float16", "bfloat16", "float32") if floats else ("uint8",))
    spec = {
        # Not normalised: after a symbolic link, ".." leads elsewhere.
        "root": root if str(root).startswith("s3://") else os.path.join(os.getcwd(), os.fspath(root)),
        "ops": ops,
        "output": {"dtype": dtype, "layout": "channels_last" if channels_last else "nchw", **_pillow()},
        "batch": int(batch),
        "seed": int(seed) & (1 << 64) - 1,
        "shuffle": bool(shuffle),
        "tail": tail,
        "on_error": on_error,
    }
    optional = {
        "samples": None if samples is None else [int(i) for i in samples],
        "max_bad": max_bad,
        "max_pixels": max_pixels,
        "depth": depth,
        "name": name,
    }
    return {**spec, **{key: value for key, value in optional.items() if value is not None}}


def _pillow() -> dict[str, int]:
    """Return the installed Pillow's major version: 13 resizes in another order, so bytes differ."""
    try:
        return {"pillow": int(importlib.metadata.version("pillow").split(".")[0])}
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return {}  # the newest


def make_options(
    num_workers: int | None,
    ranks: int,
    nice: int | None,
    record: str | os.PathLike[str] | None,
    quarantine: str | os.PathLike[str] | None,
) -> dict[str, Any]:
    """Return the daemon's options. num_workers is per rank; the daemon's threads serve all ranks of
    the node."""
    if num_workers is not None and num_workers < 0:
        raise ValueError(f"num_workers {num_workers}: expected 0 or more")
    return {
        "threads": num_workers * ranks if num_workers else None,
        "nice": nice,
        "record": os.path.abspath(os.fspath(record)) if record is not None else None,
        "quarantine": os.path.abspath(os.fspath(quarantine)) if quarantine is not None else None,
    }


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{name} {value!r}: expected {', '.join(map(repr, known))}")


def _translate_all(transform: Callable[[Any], Any] | None) -> list[dict[str, Any]]:
    from .translate import Refused, translate

    try:
        found = translate(transform)
    except Refused as why:
        raise StokerError(
            f"cannot translate the transform: {why}, stoker.DataLoader leaves such a one to torch"
        ) from None
    for note in found.notes:
        warn(note)
    return found.ops
