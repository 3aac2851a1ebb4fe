"""Computes what was recorded: by the daemon if there is one, else by Pillow and torch in this
process."""

from __future__ import annotations

import functools
import math
import mmap
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...daemon import files
from ...daemon.room import Room, rooms
from ..recipes import pictures, share, stages
from ..recipes.bits import same_bits
from ..recipes.job import Job, make_job
from ..recipes.pictures import Recording
from ..recipes.plan import Cell, Family, Layout, Plan, Sides
from .line import Line


class Materializer:
    """Computes what this process has recorded."""

    def __init__(self) -> None:
        self.line: Line | None = None  # to the daemon; called with jobs, it returns those that failed
        self.differing: list[str] | None = None  # differences from Pillow are noted here; None: results are not compared
        self._lock = threading.RLock()

    def materialize(self, cells: list[Cell], kind: int, sent: bool = False) -> None:
        """Set the values of cells. sent: the tensors go to another process as they are."""
        with self._lock:
            single, shared = _split_families(cells)
            pending, families, done = [], [], False
            while not done:  # again, in other memory and by Pillow, if the daemon was lost
                batch = _Batch(sent)
                pending = [(cell, batch.add(cell.plan)) for cell in single if cell.plan is not None]
                families = [(family, batch.add(family.plan)) for family in shared]
                done = self._run(batch.jobs, kind)
            for cell, value in pending:
                if cell.plan is not None:
                    cell.settle(value())
            for family, value in families:
                first = value()
                for cell in family.list_living():
                    cell.settle(functools.reduce(lambda value, view: view(value), cell.views, first))

    def finish(self, recording: Recording) -> None:
        """Materialize all that was recorded and is still referenced.

        Only pictures of an iterable data set may stay deferred after the fetch.
        """
        tensors = [tensor for tensor in (seen() for seen in recording.deferred_tensors) if tensor is not None]
        recording.deferred_tensors.clear()
        self.materialize([tensor.cell for tensor in tensors], share.WHOLE, torch.utils.data.get_worker_info() is not None)
        while tensors:
            _swap_in_value(tensors.pop())
        for recipe in filter(None, (seen() for seen in recording.recipes)):
            if recording.stream:  # the last sample stays in a generator
                recipe.late = True
            else:
                recipe.materialize()
        self._end_fetch(recording)

    def abandon(self, recording: Recording) -> None:
        """End a fetch that raised: nothing is computed, and kept pictures materialize on access."""
        recording.deferred_tensors.clear()
        for recipe in filter(None, (seen() for seen in recording.recipes)):
            recipe.late = True
        self._end_fetch(recording)

    def _end_fetch(self, recording: Recording) -> None:
        recording.recipes.clear()
        rooms.turn()
        if recording.files is not None:
            with self._lock, pictures.lock:  # another thread may be decoding
                files.give(recording.files)

    def _run(self, jobs: list[Job], kind: int) -> bool:
        """Run jobs. Returns False if the daemon was lost, as it may still write to their memory."""
        if not jobs:
            return True
        firsts_by_job = [stages.find_first_jobs(job) for job in jobs]
        sent = [each for job, firsts in zip(jobs, firsts_by_job) for each in firsts or [job]]
        failed = sent if self.line is None else self.line(sent)
        if failed is None:
            return False
        lost, whole = set(map(id, failed)), []
        for job, firsts in zip(jobs, firsts_by_job):
            if firsts or id(job) in lost:
                self._finish(job, firsts, lost, kind)
            else:
                whole.append(job.recipe.source)
        share.count_files(whole, kind)
        if self.differing is not None:
            self.differing += _find_differing(jobs)
        return True

    def _finish(self, job: Job, firsts: list[Job], lost: set[int], kind: int) -> None:
        """Compute the rest of a picture in this process, and count it."""
        sources = [each.recipe.source for each in firsts or [job]]
        if any(id(each) in lost for each in firsts or [job]):
            job.compute_by_pillow()
            kind = share.PILLOW
        elif firsts and stages.finish_job(job, firsts):
            kind = share.PART
        share.count_files(sources, kind)

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child: a thread of the parent may have held it."""
        self._lock = threading.RLock()


_LARGE = 1 << 18  # bytes of a tensor that is sent alone [J]: copying less is faster than lending memory

#: The materializer of this process.
materializer = Materializer()
os.register_at_fork(after_in_child=materializer.reset_after_fork)


def _split_families(cells: list[Cell]) -> tuple[list[Cell], list[Family]]:
    """Split cells into single ones and families that share memory."""
    pending = [cell for cell in dict.fromkeys(cells) if cell.plan is not None]
    families = {id(cell.family): cell.family for cell in pending if cell.family is not None and not cell.is_alone()}
    return [cell for cell in pending if cell.is_alone()], list(families.values())


def _find_differing(jobs: list[Job]) -> list[str]:
    """Return descriptions of the jobs whose results differ from Pillow's."""
    found = []
    for job in jobs:
        done = job.place.clone()
        job.compute_by_pillow()
        if not same_bits(done, job.place):
            found.append(f"{job.recipe.source.mode} {job.recipe.source.size} {job.recipe.ops}")
    return found


def _swap_in_value(tensor: Any) -> None:
    """Make a deferred tensor the real one for all references to it."""
    value = tensor.materialize()
    own = value.detach()  # nothing else refers to it, as views refer to value
    vars(own).update(vars(value))
    try:
        torch.utils.swap_tensors(tensor, own.requires_grad_(value.requires_grad))
    except RuntimeError:
        pass  # torch or a weak reference holds it: it keeps forwarding to its value


class _Batch:
    """The jobs of one request to the daemon, and the use of their results."""

    def __init__(self, sent: bool) -> None:
        self.jobs: list[Job] = []
        self.sent = sent

    def add(self, plan: Plan, place: torch.Tensor | None = None, room: Room | None = None) -> Callable[[], Any]:
        """Add a plan, written to place if possible. Returns a function that gives the value
        afterwards."""
        if plan.recipe is None:
            return self._add_stack(plan, place, room)
        begin = self._add_picture(plan, place, room)
        if begin is place and not plan.tail:
            return lambda: place

        def value() -> Any:
            done = functools.reduce(lambda value, call: call(value), plan.tail, begin)
            return done if place is None or done is place else place.copy_(torch.as_tensor(done))

        return value

    def _add_picture(self, plan: Plan, place: torch.Tensor | None, room: Room | None) -> Any:
        """Add the picture of a plan. Returns the memory that it will be in."""
        recipe, steps = plan.recipe, plan.steps
        assert recipe is not None and steps is not None
        layout, (width, height) = steps.end, recipe.size
        sides = height, width, recipe.bands
        if place is not None and place.shape == _compute_shape(layout, sides) and place.dtype == layout.dtype:
            self.jobs.append(make_job(recipe, steps, layout.to_planes(place), room))
            return place
        if layout.steps[0] == "0":  # one band, expanded to three
            begin = layout._replace(steps=("HW", "W", "")).empty(sides, sides)
            self.jobs.append(make_job(recipe, steps, begin, None))
            return begin[:1].expand(begin.shape)
        if self.sent and not plan.tail and layout.is_dense() and (size := layout.dtype.itemsize * math.prod(sides)) >= _LARGE:
            memory, room = _allocate((size // layout.dtype.itemsize,), layout.dtype)
            begin = memory.as_strided(layout.shape(sides), layout.strides(sides))
        else:
            begin, room = layout.empty(sides, plan.base_sides), None
        self.jobs.append(make_job(recipe, steps, layout.to_planes(begin), room))
        return begin

    def _add_stack(self, plan: Plan, place: torch.Tensor | None, room: Room | None) -> Callable[[], torch.Tensor]:
        dtype = plan.dtype
        if place is None or place.dtype != dtype:
            place, room = _allocate(plan.shape, dtype)
        parts = [
            functools.partial(there.copy_, part) if isinstance(part, torch.Tensor) else self.add(part, there, room)
            for part, there in zip(plan.parts, place.unbind())
        ]

        def value() -> torch.Tensor:
            for part in parts:
                part()
            return place

        return value


@functools.lru_cache(256)
def _compute_shape(layout: Layout, sides: Sides) -> tuple[int, ...]:
    return layout.shape(sides)


def _allocate(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[torch.Tensor, Room | None]:
    """Allocate a tensor's memory: shared with the trainer in a worker, as torch's collate does."""
    size = torch.Size(shape).numel() * dtype.itemsize
    try:
        room, loan = rooms.lend(size)
    except OSError:  # no descriptor or lock is left
        return torch.empty(shape, dtype=dtype), None
    try:
        if torch.utils.data.get_worker_info() is None:
            return torch.from_numpy(np.frombuffer(mmap.mmap(loan, size), np.uint8)).view(dtype).view(shape), room
        storage = torch.UntypedStorage._new_shared_fd_cpu(loan, size)
        return torch.empty(0, dtype=dtype).set_(storage, 0, shape), room
    except (OSError, RuntimeError):  # mapping failed
        return torch.empty(shape, dtype=dtype), None
    finally:
        os.close(loan)
