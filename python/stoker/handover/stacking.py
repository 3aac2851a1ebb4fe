"""Copies samples to their place in the batch as they come, if PyTorch's own collate function stacks them.

PyTorch gathers all samples and stacks them then, so each is written to memory and read from there
again. A sample that has just been made is in the processor's cache. It is copied from there, and its
memory is used again for the next sample.

Only tensors are copied early that nothing but the sample refers to: a data set that keeps one, or a
view or an array over it, may change it before the batch is stacked.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data._utils as loading

from .memory import Memory
from .sending import ALONE, ALONE_BASE, ALONE_USE, count_references, is_plain, use_count

if TYPE_CHECKING:
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

_LEAST = 64 << 10  # bytes of a sample's tensor [J]: less is copied faster by one call for all samples
_LEAST_BATCH = 2 << 20  # bytes of a batch's tensor [J]: less stays in the processor's cache until it is stacked
_FRUITLESS = 8  # batches [J] in which nothing was copied early, before the data set is left alone


class _Leaf:
    """A tensor of the batch: what one place in its samples is stacked to."""

    def __init__(self, first: torch.Tensor, count: int, memory: Memory) -> None:
        self.dtype, self.shape, self.size = first.dtype, first.size(), first.nbytes
        piece, at = memory.take(count * self.size)
        self.address = piece.first + at
        storage = torch.frombuffer(piece.buffer, dtype=torch.uint8, count=count * self.size, offset=at).untyped_storage()
        self.whole = torch.empty(0, dtype=first.dtype, device="cpu").set_(storage, 0, (count, *first.size()))
        self.parts = self.whole.unbind()
        self.placed = 0


class _Stacker:
    """Replaces a data set while one of its batches is fetched."""

    def __init__(self, dataset: Any, memory: Memory) -> None:
        self._dataset, self._memory = dataset, memory
        self._leaves: list[_Leaf | None] = []
        self._count = 0  # samples of the batch
        self._sample = self._next = 0  # number of the sample, and of its next tensor
        self._fruitless = 0

    def fetch(self, fetcher: _MapDatasetFetcher, index: list[Any]) -> Any:
        """Fetch a batch as PyTorch's fetcher does."""
        global _now
        if self._fruitless >= _FRUITLESS or not isinstance(index, list):
            return type(fetcher).fetch(fetcher, index)
        self._collate, self._fetcher = fetcher.collate_fn, weakref.ref(fetcher)
        self._count, self._sample = len(index), 0
        self._fruitless += 1
        _now, fetcher.dataset = self, self
        try:
            return type(fetcher).fetch(fetcher, index)
        finally:
            _now, fetcher.dataset = None, self._dataset
            self._leaves.clear()

    def __getitem__(self, index: Any) -> Any:
        held = [self._dataset[index]]
        if self._leaves or not self._sample and self._is_complete():
            self._next = 0
            with contextlib.suppress(Exception):  # what is odd is left to PyTorch
                held[0] = self._place(held, 0)
            if not any(self._leaves):
                self._leaves.clear()
        self._sample += 1
        return held[0]

    def _is_complete(self) -> bool:
        """Whether samples have their values: some fetches leave them to the daemon, and wrap the collate function."""
        fetcher = self._fetcher()
        complete = fetcher is not None and fetcher.collate_fn is self._collate
        self._fruitless -= not complete
        return complete

    def _place(self, held: Any, key: Any) -> Any:
        """Return what stands for a part of the sample, with tensors that are in the batch already."""
        kind = type(held[key])
        if kind is torch.Tensor:
            return self._place_tensor(held, key)
        if kind not in (dict, tuple, list) or count_references(held, key) > _ALONE_OBJECT:
            return held[key]
        inner = held[key]
        if kind is dict:
            return {name: self._place(inner, name) for name in inner}
        return kind([self._place(inner, at) for at in range(len(inner))])

    def _place_tensor(self, held: Any, key: Any) -> torch.Tensor:
        number, self._next = self._next, self._next + 1
        if not self._sample:
            self._leaves.append(self._make_leaf(held, key))
        leaf = self._leaves[number] if number < len(self._leaves) else None
        tensor: torch.Tensor
        if leaf is None or leaf.placed != self._sample or not _is_own(held, key):
            tensor = held[key]
            return tensor
        tensor = held[key]
        if tensor.dtype is not leaf.dtype or tensor.size() != leaf.shape:
            return tensor
        ctypes.memmove(leaf.address + self._sample * leaf.size, tensor.data_ptr(), leaf.size)
        leaf.placed += 1
        return leaf.parts[self._sample]

    def _make_leaf(self, held: Any, key: Any) -> _Leaf | None:
        if held[key].layout is not torch.strided or held[key].nbytes < _LEAST or held[key].nbytes * self._count < _LEAST_BATCH or not _is_own(held, key):
            return None
        try:
            return _Leaf(held[key], self._count, self._memory)
        except OSError:  # no room can be had
            return None

    def take(self, samples: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """Return the tensor that these samples are stacked to; None if some are elsewhere."""
        for number, leaf in enumerate(self._leaves):
            if leaf is not None and samples[0] is leaf.parts[0]:
                if leaf.placed == len(samples) == len(leaf.parts) and all(map(operator.is_, samples, leaf.parts)):
                    self._leaves[number] = None  # nothing but the batch refers to it
                    self._fruitless = 0
                    return leaf.whole
        return None


_now: _Stacker | None = None  # of the batch that is fetched


def _is_own(held: Any, key: Any) -> bool:
    """Whether nothing but this part of the sample refers to a tensor or its memory."""
    if count_references(held, key) > ALONE:
        return False
    tensor = held[key]
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_nested or tensor.requires_grad:
        return False
    if _has_names(tensor) or not is_plain(tensor) or not tensor.is_contiguous() or weakref.getweakrefcount(tensor) or tensor._use_count() > _ALONE_TENSOR:
        return False
    storage, base = tensor.untyped_storage(), [tensor._base]
    if not storage.resizable():  # what NumPy or a library made
        return False
    if base[0] is None:
        return use_count(storage._cdata) <= ALONE_USE
    if count_references(base, 0) > ALONE_BASE or weakref.getweakrefcount(base[0]) or base[0]._use_count() > _ALONE_BASE_TENSOR:
        return False
    return use_count(storage._cdata) <= ALONE_USE + 1


def _calibrate() -> tuple[int, int, int]:
    """Return the reference counts of an object, and of the C++ objects of a tensor and a view's base, that only this function holds."""
    held, view = [object(), torch.zeros(2, device="cpu")], torch.zeros(2, device="cpu")[1:]
    return count_references(held, 0), held[1]._use_count(), view._base._use_count()  # type: ignore[attr-defined, union-attr]


def stack_early(memory: Memory, dataset_collate: Callable[..., Any] | None) -> None:
    """Copy samples early in this worker, if this is the loader's collate function."""
    kinds = loading.collate.default_collate_fn_map
    if not able or dataset_collate is not loading.collate.default_collate or not _is_original(kinds[torch.Tensor]):
        return
    kinds[torch.Tensor] = _wrap_collate(kinds[torch.Tensor])
    fetcher = loading.fetch._MapDatasetFetcher
    fetcher.__init__ = _wrap_init(fetcher.__init__, memory)  # type: ignore[method-assign]


def _is_original(collate: Any) -> bool:
    return getattr(collate, "__wrapped__", collate) is loading.collate.collate_tensor_fn


def _wrap_collate(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def collate(batch: Sequence[torch.Tensor], *, collate_fn_map: dict[Any, Any] | None = None) -> Any:
        stacked = None if _now is None else _now.take(batch)
        return original(batch, collate_fn_map=collate_fn_map) if stacked is None else stacked

    return collate


def _wrap_init(original: Callable[..., None], memory: Memory) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, dataset: Any, *rest: Any, **more: Any) -> None:
        original(self, dataset, *rest, **more)
        worker = loading.worker.get_worker_info()
        if self.auto_collation and worker is not None and worker.dataset is dataset and not _gives_many(dataset):
            itself, stacker, self._stoker_dataset = weakref.ref(self), _Stacker(dataset, memory), dataset
            self.fetch = lambda index: stacker.fetch(itself(), index)

    return __init__


def _gives_many(dataset: Any) -> bool:
    """Whether a data set is asked for a whole batch at once."""
    if type(dataset) is torch.utils.data.Subset:
        return _gives_many(dataset.dataset)
    return bool(getattr(dataset, "__getitems__", None))


_has_names = getattr(torch.Tensor, "has_names", lambda tensor: False)  # of PyTorch before 2.15
able = use_count is not None and hasattr(torch.Tensor, "_use_count")
_ALONE_OBJECT, _ALONE_TENSOR, _ALONE_BASE_TENSOR = _calibrate() if able else (0, 0, 0)
