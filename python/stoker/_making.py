"""Making what was recorded: by the daemon where there is one, else by Pillow and torch, here."""

from __future__ import annotations

import functools
import mmap
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from . import _files, _pictures, _share
from ._pictures import Recipe, Recording, by_pillow
from ._room import Room, Rooms
from ._tensors import Call, Cell, Later, Plan, set_item
from ._verify import same_bits

if TYPE_CHECKING:
    from ._line import Line

lock = threading.RLock()  # renewed in a forked child


class Job(NamedTuple):
    """A picture, and where its pixels go after the calls, which are elementwise."""

    recipe: Recipe
    calls: tuple[Call, ...]
    place: torch.Tensor  # (channel, row, column)
    room: Room | None  # what place lies in

    def run(self, value: torch.Tensor) -> torch.Tensor:
        """The calls, on bytes of one's own."""
        return functools.reduce(lambda value, call: call(value), self.calls, value)

    def table(self) -> torch.Tensor:
        """What the calls give for each value of each band: (band, 256)."""
        key = (self.recipe.bands, self.calls)  # calls that are alike are mostly the same
        if key not in _tables:
            if len(_tables) >= 64:
                _tables.clear()
            values = torch.arange(256, dtype=torch.uint8).expand(self.recipe.bands, 256).reshape(-1, 16, 16).clone()
            _tables[key] = self.run(values).reshape(-1, 256)
        return _tables[key]

    def by_pillow(self) -> None:
        """Make it as the script would have."""
        core = by_pillow(self.recipe.source, self.recipe.ops)
        self.place.copy_(self.run(_pixels(core)))


_tables: dict[Any, torch.Tensor] = {}

#: This process's line to the daemon: makes jobs, and returns those that it could not.
daemon: Line | None = None

#: Memory for batches; anew in a forked child, which shares the locks of its parent's.
rooms = Rooms()

#: What differs from Pillow's is noted here; None: nothing is compared.
checked: list[str] | None = None


def _pixels(core: Any) -> torch.Tensor:
    """The bytes of a core image: (channel, row, column)."""
    from PIL import Image

    array = np.array(Image.Image()._new(core))
    return torch.from_numpy(array.reshape(*array.shape[:2], -1)).permute(2, 0, 1).contiguous()


def make(cells: list[Cell], kind: int) -> None:
    """Give these cells their values."""
    with lock:
        work = _Work()
        waiting = [(cell, work.plan(cell.plan)) for cell in dict.fromkeys(cells) if cell.plan is not None]
        work.run(kind)
        for cell, value in waiting:
            if cell.plan is not None:
                cell.value, cell.plan = value(), None


def finish(recording: Recording) -> None:
    """Make all that was recorded and is still seen by somebody. Nothing deferred outlives the fetch."""
    laters = [later for later in (seen() for seen in recording.tensors) if later is not None]
    recording.tensors.clear()
    make([later.cell for later in laters], _share.WHOLE)
    while laters:
        _settle(laters.pop())
    for seen in recording.recipes:
        recipe = seen()
        if recipe is not None:
            recipe.make()
    recording.recipes.clear()
    rooms.turn()
    if recording.files is not None:
        with lock, _pictures.lock:  # a thread of the program's may be making one
            _files.give(recording.files)


def _settle(later: Later) -> None:
    """Let the tensor itself be the real one, whoever holds it."""
    value = later.real()
    own = value.detach()  # which nothing else holds, as views hold value
    vars(own).update(vars(value))
    try:
        torch.utils.swap_tensors(later, own.requires_grad_(value.requires_grad))
    except RuntimeError:
        pass  # something of torch's or a weak reference holds it: it stands for its value


class _Work:
    """Pictures to be made together, and what is done with them then."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def run(self, kind: int) -> None:
        if not self.jobs:
            return
        failed = self.jobs if daemon is None else daemon(self.jobs)
        for job in failed:
            _share.went(job.recipe.source, _share.PILLOW)
            job.by_pillow()
        for job in self.jobs:
            _share.went(job.recipe.source, kind)
        if checked is not None:
            for job in self.jobs:
                made = job.place.clone()
                job.by_pillow()
                if not same_bits(made, job.place):
                    checked.append(f"{job.recipe.source.mode} {job.recipe.source.size} {job.recipe.ops}")

    def plan(self, plan: Plan, place: torch.Tensor | None = None, room: Room | None = None) -> Callable[[], torch.Tensor]:
        """Have a tensor made, in a given place where that is possible; what is returned gives it afterwards."""
        if plan.recipe is None:
            return self._stack(plan, place, room)
        begin, calls = self._picture(plan, place, room)

        def value() -> torch.Tensor:
            made = functools.reduce(lambda value, call: call(value), calls, begin())
            return made if place is None or made is place else place.copy_(made)

        return value

    def _picture(self, plan: Plan, place: torch.Tensor | None, room: Room | None) -> tuple[Callable[[], torch.Tensor], tuple[Call, ...]]:
        assert plan.recipe is not None
        count = next((i for i, call in enumerate(plan.calls) if call.func is set_item), len(plan.calls))
        job = Job(plan.recipe, plan.calls[:count], torch.empty(0), room)
        dtype = job.table().dtype
        if place is None or place.dtype != dtype:
            place, room = torch.empty_strided(plan.shape, plan.strides(), dtype=dtype), None
        self.jobs.append(job._replace(place=place, room=room))
        return lambda: place, plan.calls[count:]

    def _stack(self, plan: Plan, place: torch.Tensor | None, room: Room | None) -> Callable[[], torch.Tensor]:
        dtype = plan.parts[0].dtype
        if place is None or place.dtype != dtype:
            place, room = _empty(plan.shape, dtype)
        parts = [part if isinstance(part, torch.Tensor) else self.plan(part, place[i], room) for i, part in enumerate(plan.parts)]

        def value() -> torch.Tensor:
            for i, part in enumerate(parts):
                if isinstance(part, torch.Tensor):
                    place[i] = part
                else:
                    part()
            return place

        return value


def _empty(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[torch.Tensor, Room | None]:
    """Memory for a batch: in a worker shared with the trainer, as torch's collate has it."""
    size = torch.Size(shape).numel() * dtype.itemsize
    try:
        room, loan = rooms.lend(size)
    except OSError:  # no descriptor is left, or no lock
        return torch.empty(shape, dtype=dtype), None
    try:
        if torch.utils.data.get_worker_info() is None:
            return torch.from_numpy(np.frombuffer(mmap.mmap(loan, size), np.uint8)).view(dtype).view(shape), room
        storage = torch.UntypedStorage._new_shared_fd_cpu(loan, size)
        return torch.empty(0, dtype=dtype).set_(storage, 0, shape), room
    finally:
        os.close(loan)
