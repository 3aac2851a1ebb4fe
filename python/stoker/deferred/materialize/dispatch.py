"""Computes what was recorded: by the daemon if there is one, else by Pillow and torch in this
process."""

from __future__ import annotations

import functools
import math
import mmap
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from ...daemon import files
from ...daemon.room import rooms
from ...handover.memory import ALIGN, LEAST, Memory, find_memory
from ..recipes import pictures, share, stages
from ..recipes.bits import same_bits
from ..recipes.job import Job, Shared, make_job
from ..recipes.pictures import Recording
from ..recipes.plan import Cell, Family, Layout, Plan, Sides
from .line import Line


class Materializer:
    """Computes what this process has recorded."""

    def __init__(self) -> None:
        self.line: Line | None = None  # to the daemon; called with jobs, it returns those that failed
        self.differing: list[str] | None = None  # differences from Pillow are noted here; None: results are not compared
        self._lock = threading.RLock()

    def materialize(self, cells: list[Cell], kind: int, sent: bool = False, in_batch: frozenset[Cell] = frozenset()) -> None:
        """Set the values of cells. sent: the tensors go to another process as they are; those of
        in_batch, in the memory of the worker's batch."""
        with self._lock:
            single, shared = _split_families(cells)
            pending, families, done = [], [], False
            while not done:  # again, in other memory and by Pillow, if the daemon was lost
                batch = _Batch(sent, _expect_in_memory(in_batch))
                pending = [(cell, batch.add(cell.plan, in_batch=cell in in_batch)) for cell in single if cell.plan is not None]
                families = [(family, batch.add(family.plan, in_batch=not in_batch.isdisjoint(family.list_living()))) for family in shared]
                done = self._run(batch.jobs, kind)
            for cell, value in pending:
                if cell.plan is not None:
                    cell.settle(value())
            for family, value in families:
                first = value()
                for cell in family.list_living():
                    cell.settle(functools.reduce(lambda value, view: view(value), cell.views, first))

    def finish(self, recording: Recording, result: object) -> None:
        """Materialize all that was recorded and is still referenced. result is what the fetch returned.

        Only pictures of an iterable data set may stay deferred after the fetch.
        """
        tensors = [tensor for tensor in (seen() for seen in recording.deferred_tensors) if tensor is not None]
        recording.deferred_tensors.clear()
        inside = set(map(id, find_tensors(result))) if tensors and find_memory() is not None else ()
        in_batch = frozenset(tensor.cell for tensor in tensors if id(tensor) in inside)
        self.materialize([tensor.cell for tensor in tensors], share.WHOLE, torch.utils.data.get_worker_info() is not None, in_batch)
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


def find_tensors(value: object, deep: int = 4) -> Iterator[torch.Tensor]:
    """Yield the tensors of a batch that lie in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif deep and isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from find_tensors(each, deep - 1)


def _expect_in_memory(cells: Iterable[Cell]) -> Memory | None:
    """Return the memory of the worker's batch, after announcing these cells to it."""
    memory, plans = find_memory(), [cell.plan for cell in cells if cell.plan is not None]
    if memory is not None:
        memory.expect(sum(math.prod(plan.shape) * plan.dtype.itemsize + ALIGN for plan in plans))
    return memory


class _Batch:
    """The jobs of one request to the daemon, and the use of their results."""

    def __init__(self, sent: bool, memory: Memory | None) -> None:
        self.jobs: list[Job] = []
        self.sent, self._memory = sent, memory

    def add(self, plan: Plan, place: torch.Tensor | None = None, shared: Shared | None = None, in_batch: bool = False) -> Callable[[], Any]:
        """Add a plan, written to place if possible. Returns a function that gives the value
        afterwards."""
        if plan.recipe is None:
            return self._add_stack(plan, place, shared, in_batch)
        begin = self._add_picture(plan, place, shared, in_batch)
        if begin is place and not plan.tail:
            return lambda: place

        def value() -> Any:
            done = functools.reduce(lambda value, call: call(value), plan.tail, begin)
            return done if place is None or done is place else place.copy_(torch.as_tensor(done))

        return value

    def _add_picture(self, plan: Plan, place: torch.Tensor | None, shared: Shared | None, in_batch: bool) -> Any:
        """Add the picture of a plan. Returns the memory that it will be in."""
        recipe, steps = plan.recipe, plan.steps
        assert recipe is not None and steps is not None
        layout, (width, height) = steps.end, recipe.size
        sides = height, width, recipe.bands
        if place is not None and place.shape == _compute_shape(layout, sides) and place.dtype == layout.dtype:
            self.jobs.append(make_job(recipe, steps, layout.to_planes(place), shared))
            return place
        if layout.steps[0] == "0":  # one band, expanded to three
            begin = layout._replace(steps=("HW", "W", "")).empty(sides, sides)
            self.jobs.append(make_job(recipe, steps, begin, None))
            return begin[:1].expand(begin.shape)
        size, least = layout.dtype.itemsize * math.prod(sides), LEAST if in_batch and self._memory is not None else _LARGE
        if self.sent and not plan.tail and layout.is_dense() and size >= least:
            memory, shared = self._allocate((size // layout.dtype.itemsize,), layout.dtype, in_batch)
            begin = memory.as_strided(layout.shape(sides), layout.strides(sides))
        else:
            begin, shared = layout.empty(sides, plan.base_sides), None
        self.jobs.append(make_job(recipe, steps, layout.to_planes(begin), shared))
        return begin

    def _add_stack(self, plan: Plan, place: torch.Tensor | None, shared: Shared | None, in_batch: bool) -> Callable[[], torch.Tensor]:
        dtype = plan.dtype
        if place is None or place.dtype != dtype:
            place, shared = self._allocate(plan.shape, dtype, in_batch)
        parts = [
            functools.partial(there.copy_, part) if isinstance(part, torch.Tensor) else self.add(part, there, shared)
            for part, there in zip(plan.parts, place.data.unbind())  # what is written there counts as no change of the batch
        ]

        def value() -> torch.Tensor:
            for part in parts:
                part()
            return place

        return value

    def _allocate(self, shape: tuple[int, ...], dtype: torch.dtype, in_batch: bool) -> tuple[torch.Tensor, Shared | None]:
        size = math.prod(shape) * dtype.itemsize
        if in_batch and self._memory is not None and size >= LEAST:
            try:
                piece, at = self._memory.take(size)
            except OSError:  # no room can be had
                return torch.empty(shape, dtype=dtype), None
            storage = torch.frombuffer(piece.buffer, dtype=torch.uint8, count=size, offset=at).untyped_storage()
            return torch.empty(0, dtype=dtype).set_(storage, 0, shape), Shared(piece, piece.loan, at)
        return _allocate(shape, dtype)


@functools.lru_cache(256)
def _compute_shape(layout: Layout, sides: Sides) -> tuple[int, ...]:
    return layout.shape(sides)


def _allocate(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[torch.Tensor, Shared | None]:
    """Allocate a tensor's memory: shared with the trainer in a worker, as torch's collate does."""
    size = torch.Size(shape).numel() * dtype.itemsize
    try:
        room, loan = rooms.lend(size)
    except OSError:  # no descriptor or lock is left
        return torch.empty(shape, dtype=dtype), None
    try:
        shared = Shared(room, room.descriptor, 0)
        if torch.utils.data.get_worker_info() is None:
            # A forked child that writes to the batch writes to pages of its own, as without the daemon.
            own = mmap.mmap(loan, size, mmap.MAP_PRIVATE)
            return torch.from_numpy(np.frombuffer(own, np.uint8)).view(dtype).view(shape), shared
        storage = torch.UntypedStorage._new_shared_fd_cpu(loan, size)
        return torch.empty(0, dtype=dtype).set_(storage, 0, shape), shared
    except (OSError, RuntimeError):  # mapping failed
        return torch.empty(shape, dtype=dtype), None
    finally:
        os.close(loan)
