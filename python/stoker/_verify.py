"""`stoker feed --verify N`: the first batches of each process are made twice, and nothing is trusted that differs."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable
from typing import Any

import torch


def twice(own: Callable[[], Any], fed: Callable[[], Any]) -> tuple[Any, bool]:
    """The script's own batch, and whether the fed one is the same bit by bit.

    Random numbers go on as after the first.
    """
    before = states()
    batch = own()
    after = states()
    restore(before)
    try:
        return batch, same(batch, fed()) and _alike(states(), after)
    except Exception:  # a library does not take what waits
        return batch, False
    finally:
        restore(after)


def states() -> tuple[Any, ...]:
    """Where the random numbers of torch, Python and NumPy stand."""
    numpy = sys.modules.get("numpy")
    return torch.get_rng_state(), random.getstate(), numpy.random.get_state() if numpy else None


def restore(then: tuple[Any, ...]) -> None:
    """Put them back."""
    torch.set_rng_state(then[0])
    random.setstate(then[1])
    if then[2] is not None:
        sys.modules["numpy"].random.set_state(then[2])


def _alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return torch.equal(one[0], other[0]) and one[1] == other[1] and repr(one[2]) == repr(other[2])


def same(one: Any, other: Any) -> bool:
    """Whether two batches are equal in types, shapes and bits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.stride() == other.stride()
            and same_bits(one, other)
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    try:
        return pickle.dumps(one) == pickle.dumps(other)
    except Exception:
        return True  # not to be compared, nor to be sent to the trainer


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two dense tensors of the same looks are equal, NaN and the sign of 0 included."""
    if one.layout is not torch.strided or one.is_quantized:
        return True
    return torch.equal(
        *(
            each.detach().cpu().resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8)
            for each in (one, other)
        )
    )
