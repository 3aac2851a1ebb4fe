"""Making what was recorded: by the daemon where there is one, else by Pillow and torch, here."""

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
from ..recipes.job import Job, job_of
from ..recipes.pictures import Recording
from ..recipes.plan import Cell, Family, Look, Plan, Sides
from .line import Line


class Maker:
    """Makes what this process has recorded."""

    def __init__(self) -> None:
        self.line: Line | None = None  # to the daemon: makes jobs, and returns those that it could not
        self.differing: list[str] | None = None  # what differs from Pillow's is noted here; None: nothing is compared
        self._lock = threading.RLock()

    def make(self, cells: list[Cell], kind: int, sent: bool = False) -> None:
        """Give these cells their values; sent: they go to another process, as they are."""
        with self._lock:
            single, shared = _sorted(cells)
            waiting, families, made = [], [], False
            while not made:  # where a daemon was lost, once more in other memory, by Pillow
                work = _Work(sent)
                waiting = [(cell, work.plan(cell.plan)) for cell in single if cell.plan is not None]
                families = [(family, work.plan(family.plan)) for family in shared]
                made = self._run(work.jobs, kind)
            for cell, value in waiting:
                if cell.plan is not None:
                    cell.settle(value())
            for family, value in families:
                first = value()
                for cell in family.living():
                    cell.settle(functools.reduce(lambda value, look: look(value), cell.way, first))

    def finish(self, recording: Recording) -> None:
        """Make all that was recorded and is still seen by somebody. Nothing deferred outlives the fetch but the pictures
        of a stream, whose files were seen to be sound."""
        laters = [later for later in (seen() for seen in recording.laters) if later is not None]
        recording.laters.clear()
        self.make([later.cell for later in laters], share.WHOLE, torch.utils.data.get_worker_info() is not None)
        while laters:
            _settle(laters.pop())
        for recipe in filter(None, (seen() for seen in recording.recipes)):
            if recording.stream:  # its generators hold the last sample
                recipe.late = True
            else:
                recipe.make()
        self._end_fetch(recording)

    def abandon(self, recording: Recording) -> None:
        """After an error of the program: make nothing. What somebody keeps is made when it is asked for."""
        recording.laters.clear()
        for recipe in filter(None, (seen() for seen in recording.recipes)):
            recipe.late = True
        self._end_fetch(recording)

    def _end_fetch(self, recording: Recording) -> None:
        recording.recipes.clear()
        rooms.turn()
        if recording.files is not None:
            with self._lock, pictures.lock:  # a thread of the program's may be making one
                files.give(recording.files)

    def _run(self, jobs: list[Job], kind: int) -> bool:
        """Make them; False: the daemon was lost, and may still write to where they go."""
        if not jobs:
            return True
        begun = [stages.begun(job) for job in jobs]
        sent = [each for job, firsts in zip(jobs, begun) for each in firsts or [job]]
        failed = sent if self.line is None else self.line(sent)
        if failed is None:
            return False
        lost, whole = set(map(id, failed)), []
        for job, firsts in zip(jobs, begun):
            if firsts or id(job) in lost:
                self._end(job, firsts, lost, kind)
            else:
                whole.append(job.recipe.source)
        share.all_went(whole, kind)
        if self.differing is not None:
            self.differing += _differing(jobs)
        return True

    def _end(self, job: Job, firsts: list[Job], lost: set[int], kind: int) -> None:
        """Make of a picture what the daemon has not made, and count it."""
        sources = [each.recipe.source for each in firsts or [job]]
        if any(id(each) in lost for each in firsts or [job]):
            job.by_pillow()
            kind = share.PILLOW
        elif firsts and stages.go_on(job, firsts):
            kind = share.PART
        share.all_went(sources, kind)

    def forked(self) -> None:
        """In a forked child: a thread of the parent's may hold the lock."""
        self._lock = threading.RLock()


_LARGE = 1 << 18  # bytes of a tensor that is sent by itself [J]: less is copied in less time than memory is lent

#: This process's.
maker = Maker()
os.register_at_fork(after_in_child=maker.forked)


def _sorted(cells: list[Cell]) -> tuple[list[Cell], list[Family]]:
    """Those that are made by themselves, and families of which several members look at the same memory."""
    waiting = [cell for cell in dict.fromkeys(cells) if cell.plan is not None]
    families = {id(cell.family): cell.family for cell in waiting if cell.family is not None and not cell.alone()}
    return [cell for cell in waiting if cell.alone()], list(families.values())


def _differing(jobs: list[Job]) -> list[str]:
    """What the daemon made otherwise than Pillow does."""
    found = []
    for job in jobs:
        made = job.place.clone()
        job.by_pillow()
        if not same_bits(made, job.place):
            found.append(f"{job.recipe.source.mode} {job.recipe.source.size} {job.recipe.ops}")
    return found


def _settle(later: Any) -> None:
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

    def __init__(self, sent: bool) -> None:
        self.jobs: list[Job] = []
        self.sent = sent

    def plan(
        self, plan: Plan, place: torch.Tensor | None = None, room: Room | None = None
    ) -> Callable[[], Any]:
        """Have it made, in a given place where that is possible; what is returned gives it afterwards."""
        if plan.recipe is None:
            return self._stack(plan, place, room)
        begin = self._picture(plan, place, room)
        if begin is place and not plan.tail:
            return lambda: place

        def value() -> Any:
            made = functools.reduce(lambda value, call: call(value), plan.tail, begin)
            return made if place is None or made is place else place.copy_(torch.as_tensor(made))

        return value

    def _picture(self, plan: Plan, place: torch.Tensor | None, room: Room | None) -> Any:
        """Have the picture of a plan made; where it will lie is returned."""
        recipe, steps = plan.recipe, plan.steps
        assert recipe is not None and steps is not None
        look, (width, height) = steps.end, recipe.size
        sides = height, width, recipe.bands
        if place is not None and place.shape == _shape(look, sides) and place.dtype == look.dtype:
            self.jobs.append(job_of(recipe, steps, look.planes(place), room))
            return place
        if look.steps[0] == "0":  # one band, seen three times
            begin = look._replace(steps=("HW", "W", "")).empty(sides, sides)
            self.jobs.append(job_of(recipe, steps, begin, None))
            return begin[:1].expand(begin.shape)
        if self.sent and not plan.tail and look.dense() and (size := look.dtype.itemsize * math.prod(sides)) >= _LARGE:
            memory, room = _empty((size // look.dtype.itemsize,), look.dtype)
            begin = memory.as_strided(look.shape(sides), look.strides(sides))
        else:
            begin, room = look.empty(sides, plan.around), None
        self.jobs.append(job_of(recipe, steps, look.planes(begin), room))
        return begin

    def _stack(self, plan: Plan, place: torch.Tensor | None, room: Room | None) -> Callable[[], torch.Tensor]:
        dtype = plan.dtype
        if place is None or place.dtype != dtype:
            place, room = _empty(plan.shape, dtype)
        parts = [
            functools.partial(there.copy_, part) if isinstance(part, torch.Tensor) else self.plan(part, there, room)
            for part, there in zip(plan.parts, place.unbind())
        ]

        def value() -> torch.Tensor:
            for part in parts:
                part()
            return place

        return value


@functools.lru_cache(256)
def _shape(look: Look, sides: Sides) -> tuple[int, ...]:
    return look.shape(sides)


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
    except (OSError, RuntimeError):  # it cannot be mapped
        return torch.empty(shape, dtype=dtype), None
    finally:
        os.close(loan)
