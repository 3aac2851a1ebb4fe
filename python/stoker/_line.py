"""A process's line to the daemon that makes its pictures: the "make" of docs/feed-protocol.md."""

from __future__ import annotations

import array
import base64
import json
import mmap
import os
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from . import _making
from ._files import Files
from ._making import Job
from ._room import Room
from ._warning import warn

_DTYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
_VECTORS = 512  # of one writev
_PICTURES = 2048  # of one make, of 8192 that are possible
_KEPT = 128 << 20  # bytes of a scratch
_AT_ONCE = 8  # makes, of 16 that are possible


class Line:
    """Makes jobs; those that it returns it could not. Once broken it returns them all."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(True)
        self._end: socket.socket | None = end
        self._pid = os.getpid()
        self._files = Files()  # of sources that lie in no other
        self._scratch: Room | None = None  # of what is made in no room; its pages are there from the second time on
        self._number = 0

    def __call__(self, jobs: list[Job]) -> list[Job]:
        if not self.alive():
            return jobs
        try:
            return self._make(jobs)
        except Exception as error:
            self.close()
            warn(f"stoker feed makes no more pictures ({error}): this process makes them with Pillow")
            return jobs
        except BaseException:  # in the middle of a packet
            self.close()
            raise

    def alive(self) -> bool:
        return self._end is not None and self._pid == os.getpid()

    def close(self) -> None:
        if self._end is not None:
            self._end.close()
            self._end = None
            _making.rooms.forget()  # the daemon may have one in hand

    def _make(self, jobs: list[Job]) -> list[Job]:
        request = _Request(jobs)
        files = next((job.recipe.source.files for job in jobs if job.recipe.source.files), self._files)
        try:
            self._scratch = request.draft(self._scratch)
            at = request.write(files)
            waiting: dict[int, list[int]] = {}
            left: set[int] = set()
            for room, members, text in request.texts():
                if len(waiting) == _AT_ONCE:
                    left.update(self._receive(waiting))
                os.pwrite(files.descriptor, text, at)
                self._number += 1
                self._send({"type": "make", "n": self._number, "at": at, "bytes": len(text)}, (files.descriptor, room))
                waiting[self._number] = members
                at += len(text)
            while waiting:
                left.update(self._receive(waiting))
            if at > files.size:
                os.ftruncate(files.descriptor, files.size)
            request.deliver(left)
            return [job for i, job in enumerate(jobs) if i in left]
        finally:
            request.close()

    def _send(self, packet: dict[str, Any], descriptors: tuple[int, ...]) -> None:
        assert self._end is not None
        self._end.sendmsg([json.dumps(packet).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))], socket.MSG_NOSIGNAL)

    def _receive(self, waiting: dict[int, list[int]]) -> list[int]:
        """The jobs that an answer names as not made."""
        assert self._end is not None
        packet = self._end.recv(1 << 17)
        if not packet:
            raise OSError("it has ended")
        answer = json.loads(packet)
        if answer["type"] != "made":
            raise OSError(answer.get("text", answer["type"]))
        members = waiting.pop(answer["n"])
        refused = [item["index"] for item in answer.get("failed", ())]
        if answer.get("failed_more"):
            return members
        return [members[index] for index in refused]


class _Request:
    """Jobs, grouped by the memory that they go to; what has no memory of its own goes to a scratch first."""

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = jobs
        self.scratch = -1
        self.mapped: np.ndarray | None = None
        self.size = 0  # of the scratch
        self.offsets: dict[int, int] = {}  # of sources in the file, by identity
        self.drafts: dict[int, int] = {}  # where jobs lie in the scratch
        for i, job in enumerate(jobs):
            if not _direct(job):
                self.drafts[i] = self.size
                self.size += -(-job.place.numel() * _width(job) // 64) * 64

    def draft(self, room: Room | None) -> Room | None:
        """Have a scratch: the room of an earlier request, where that is large enough. What a later one may have is returned."""
        if not self.size:
            return room
        if room is None or room.size < self.size:
            room = Room(self.size)
        self.scratch = os.dup(room.descriptor)
        self.mapped = np.frombuffer(mmap.mmap(self.scratch, self.size), np.uint8)
        return room if room.size <= _KEPT else None

    def write(self, files: Files) -> int:
        """Have the sources in a file, behind those that it has; its end is returned."""
        chunks, at = [], files.end
        for job in self.jobs:
            source = job.recipe.source
            if source.files is files:
                self.offsets[id(source)] = source.at
            elif id(source) not in self.offsets:
                self.offsets[id(source)] = at
                chunks.append(source.data)
                at += len(source.data)
        begin = files.end
        for first in range(0, len(chunks), _VECTORS):
            part = chunks[first : first + _VECTORS]
            if os.pwritev(files.descriptor, part, begin) != sum(map(len, part)):
                raise OSError("the files do not fit into memory")
            begin += sum(map(len, part))
        return at

    def texts(self) -> Iterator[tuple[int, list[int], bytes]]:
        """The memory's descriptor, jobs that go there, and what the daemon is told of them."""
        groups: dict[int, list[int]] = {}
        for i, job in enumerate(self.jobs):
            groups.setdefault(self.scratch if i in self.drafts else job.room.descriptor, []).append(i)
        for room, members in groups.items():
            for first in range(0, len(members), _PICTURES):
                part = members[first : first + _PICTURES]
                yield room, part, self._text(part)

    def _text(self, members: list[int]) -> bytes:
        tables: dict[int, tuple[int, torch.Tensor]] = {}
        pictures = []
        for i in members:
            job = self.jobs[i]
            source = job.recipe.source
            to = self.drafts[i] if i in self.drafts else job.place.storage_offset() * job.place.element_size()
            picture: dict[str, Any] = {"mode": source.mode, "size": source.size, "file": (self.offsets[id(source)], len(source.data)), "to": to}
            end = () if _rows(job) else (("pil_to_tensor",),)
            picture["ops"] = (*job.recipe.ops, *end)
            if _numbers(job):
                table = job.table()
                picture["table"], _ = tables.setdefault(id(table), (len(tables), table))
            pictures.append(picture)
        bits = [{"dtype": _DTYPES[table.dtype], "bits": base64.b64encode(table.float().numpy().tobytes()).decode()} for _, table in tables.values()]
        return json.dumps({"tables": bits, "pictures": pictures}, separators=(",", ":")).encode()

    def deliver(self, failed: set[int]) -> None:
        """Bring what lies in the scratch to its places."""
        for i, at in self.drafts.items():
            if i in failed or self.mapped is None:
                continue
            job = self.jobs[i]
            dtype = job.place.dtype if _numbers(job) else torch.uint8
            values = torch.from_numpy(self.mapped[at : at + job.place.numel() * dtype.itemsize]).view(dtype)
            if _rows(job):
                channels, height, width = job.place.shape
                job.place.copy_(values.view(height, width, channels).permute(2, 0, 1))
            else:
                value = values.view(job.place.shape)
                job.place.copy_(value if _numbers(job) else job.run(value.clone()))

    def close(self) -> None:
        self.mapped = None
        if self.scratch >= 0:
            os.close(self.scratch)


def _numbers(job: Job) -> bool:
    """Whether the daemon gives what the calls give."""
    return bool(job.calls) and job.place.dtype in _DTYPES


def _rows(job: Job) -> bool:
    return not job.calls and not job.place.is_contiguous()


def _direct(job: Job) -> bool:
    """Whether it is written to its place at once."""
    return isinstance(job.room, Room) and (_numbers(job) or not job.calls) and (job.place.is_contiguous() or _rows(job))


def _width(job: Job) -> int:
    return job.place.element_size() if _numbers(job) else 1
