"""A process's line to the daemon that computes its pictures: "make" in feed/serve/PROTOCOL.md."""

from __future__ import annotations

import array
import base64
import json
import mmap
import os
import select
import socket
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch

from ..._warning import say
from ...daemon.deaths import Silence
from ...daemon.files import Files
from ...daemon.room import Room, rooms
from ...daemon.session import QUIET, SILENT, Gone, Hung
from ..recipes import pictures as _pictures
from ..recipes.job import Job

_DTYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
_VECTORS = 512  # buffers of one writev
_PICTURES = 2048  # of one make; the daemon allows 8192
_KEPT = 128 << 20  # bytes of the largest scratch that is kept
_AT_ONCE = 8  # makes; the daemon allows 16


class Source(Protocol):
    """Supplies a line with connections."""

    def take_connection(self) -> socket.socket | None:
        """Return a new connection if there is one, without waiting."""

    def report_loss(self, hung: bool) -> None:
        """Report that the latest connection broke."""


class Line:
    """Sends jobs to the daemon, and returns those that failed.

    If the connection breaks, a call returns None; later ones use a new connection, if there is one.
    """

    def __init__(self, source: Source, patience: float) -> None:
        self._source = source
        self._patience = patience
        self._end: socket.socket | None = None
        self._left = False
        self._pid = os.getpid()
        self._files: Files | None = None  # for sources that are not in the files of a fetch
        self._scratch: Room | None = None  # for results without a room; reused, so that its pages stay mapped
        self._number = 0
        self.spent = 0  # processor time of the daemon for this process, in ns

    def __del__(self) -> None:
        if self._end is not None:
            self._end.close()

    def __call__(self, jobs: list[Job]) -> list[Job] | None:
        """Run jobs. None: the connection broke, and the daemon may still write to their memory."""
        if not self.is_alive():
            return jobs
        try:
            return self._make(jobs)
        except Exception as error:
            if isinstance(error, Hung):
                _say(f"{error}: Pillow makes the pictures that were under way")
            self._report_break(isinstance(error, Hung))
            return None
        except BaseException:  # in the middle of a packet
            self._report_break(False)
            raise

    def try_connect(self) -> bool:
        """Take a connection if the line has none. Returns whether the line is connected."""
        if self._end is None and not self._left and self._pid == os.getpid():
            self._end = self._source.take_connection()
            if self._end is not None:
                self._end.settimeout(self._patience)
        return self.is_alive()

    def is_inherited(self) -> bool:
        """Whether this is a forked child's copy."""
        return self._pid != os.getpid()

    def is_closed(self) -> bool:
        return self._left

    def is_alive(self) -> bool:
        return self._end is not None and self._pid == os.getpid()

    def close(self) -> None:
        """Close the connection for good."""
        self._left = True
        if self._end is not None:
            self._drop_connection()

    def _report_break(self, hung: bool) -> None:
        self._drop_connection()
        self._source.report_loss(hung)

    def _drop_connection(self) -> None:
        assert self._end is not None
        self._end.close()
        self._end = self._files = self._scratch = None
        rooms.forget()  # the daemon may still write to them

    def _make(self, jobs: list[Job]) -> list[Job]:
        request = _Request(jobs)
        files = next((job.recipe.source.files for job in jobs if job.recipe.source.files), None)
        if files is None:
            files = self._files = self._files or Files()
        try:
            self._scratch = request.draft(self._scratch)
            at = request.write(files)
            pending: dict[int, list[int]] = {}
            left: set[int] = set()
            for room, members, text in request.encode_groups():
                if len(pending) == _AT_ONCE:
                    left.update(self._receive(pending))
                os.pwrite(files.descriptor, text, at)
                self._number += 1
                self._send({"type": "make", "n": self._number, "at": at, "bytes": len(text)}, (files.descriptor, room))
                pending[self._number] = members
                at += len(text)
            while pending:
                left.update(self._receive(pending))
            if at > files.size:
                os.ftruncate(files.descriptor, files.size)
            request.deliver(left)
            return [job for i, job in enumerate(jobs) if i in left]
        finally:
            request.close()

    def _send(self, packet: dict[str, Any], descriptors: tuple[int, ...]) -> None:
        assert self._end is not None
        try:
            self._end.sendmsg(
                [json.dumps(packet).encode()],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))],
                socket.MSG_NOSIGNAL,
            )
        except TimeoutError:
            raise Hung(self._patience, "it takes no pictures") from None
        except OSError as error:
            raise Gone(f"stoker feed has ended ({error})") from error

    def _receive(self, pending: dict[int, list[int]]) -> list[int]:
        """Receive an answer. Returns the jobs that it names as failed."""
        answer = self._answer()
        members = pending.pop(answer["n"])
        self.spent += answer.get("cpu", 0)
        refused = [item["index"] for item in answer.get("failed", ())]
        if answer.get("failed_more"):
            return members
        return [members[index] for index in refused]

    def _answer(self) -> dict[str, Any]:
        """Receive the next "made".

        A silent daemon is pinged, and given up if it does not answer.
        """
        silence, said = Silence(), False
        asked = False
        while True:
            if not self._wait(QUIET):
                if not asked:
                    asked = True
                    silence.end()
                    self._send({"type": "ping", "n": 0}, ())
                elif silence.grow() >= self._patience:
                    raise Hung(self._patience, "pictures were awaited")
                elif silence.seconds >= SILENT and not said:
                    said = True
                    _say(
                        f"stoker feed gives no sign of life: its process lives, so it is waited for, "
                        f"{self._patience:.0f} s in all"
                    )
                continue
            answer = self._packet()
            if answer["type"] == "made":
                return answer
            if answer["type"] != "pong":
                raise Gone(f"stoker feed makes no more pictures: {answer.get('text', answer['type'])}")
            asked = False

    def _wait(self, seconds: float) -> bool:
        """Wait for a packet or the end of the connection."""
        assert self._end is not None
        poller = select.poll()
        poller.register(self._end, select.POLLIN)
        return bool(poller.poll(min(seconds, self._patience) * 1000))

    def _packet(self) -> dict[str, Any]:
        assert self._end is not None
        try:
            packet = self._end.recv(1 << 17)
        except OSError as error:
            raise Gone(f"stoker feed has ended ({error})") from error
        if not packet:
            raise Gone("stoker feed has ended")
        return json.loads(packet)


def _say(sentence: str) -> None:
    """Print a line on stderr: of several workers, only the first prints it."""
    info = torch.utils.data.get_worker_info()
    if info is None or info.id == 0:
        say(sentence)


class _Request:
    """Jobs, grouped by the memory they write to. Jobs without shared memory write to a scratch
    first."""

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = jobs
        self.scratch = -1
        self.mapped: np.ndarray | None = None
        self.size = 0  # bytes of the scratch
        self.offsets: dict[int, int] = {}  # of sources in the file, by id
        self.drafts: dict[int, int] = {}  # offsets of jobs in the scratch
        for i, job in enumerate(jobs):
            if not _writes_in_place(job):
                self.drafts[i] = self.size
                self.size += -(-job.place.numel() * _element_width(job) // 64) * 64

    def draft(self, room: Room | None) -> Room | None:
        """Take a scratch: an earlier request's, if it is large enough. Returns it if it should be
        kept."""
        if not self.size:
            return room
        if room is None or room.size < self.size:
            room = Room(self.size)
        self.scratch = os.dup(room.descriptor)
        self.mapped = np.frombuffer(mmap.mmap(self.scratch, self.size), np.uint8)
        return room if room.size <= _KEPT else None

    def write(self, files: Files) -> int:
        """Write the sources to a file, after those that it has. Returns the end."""
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

    def encode_groups(self) -> Iterator[tuple[int, list[int], bytes]]:
        """Yield for each room its descriptor, its jobs and the daemon's description of them."""
        groups: dict[int, list[int]] = {}
        for i, job in enumerate(self.jobs):
            groups.setdefault(self.scratch if i in self.drafts else job.shared.descriptor, []).append(i)
        for room, members in groups.items():
            for first in range(0, len(members), _PICTURES):
                part = members[first : first + _PICTURES]
                yield room, part, self._encode_group(part)

    def _encode_group(self, members: list[int]) -> bytes:
        tables: dict[int, tuple[int, torch.Tensor]] = {}
        pictures, pillow, planes = [], _pictures.version(), ("pil_to_tensor",)
        steps, which = None, 0
        for i in members:
            job = self.jobs[i]
            recipe, place, source = job.recipe, job.place, job.recipe.source
            picture: dict[str, Any] = {
                "mode": source.mode,
                "size": source.size,
                "file": (self.offsets[id(source)], len(source.data)),
                "to": self.drafts[i] if i in self.drafts else job.shared.at + place.storage_offset() * place.element_size(),
                "ops": recipe.ops if _wants_rows(job) else (*recipe.ops, planes),
            }
            if pillow < 13:  # 13 resizes vertically and horizontally in another order
                picture["pillow"] = pillow
            if _returns_numbers(job):
                if (job.steps, recipe.bands) != steps:  # neighbours mostly have equal steps
                    table = job.table()
                    which, _ = tables.setdefault(id(table), (len(tables), table))
                    steps = job.steps, recipe.bands
                picture["table"] = which
            pictures.append(picture)
        bits = [
            {"dtype": _DTYPES[table.dtype], "bits": base64.b64encode(table.float().numpy().tobytes()).decode()}
            for _, table in tables.values()
        ]
        return json.dumps({"tables": bits, "pictures": pictures}, separators=(",", ":")).encode()

    def deliver(self, failed: set[int]) -> None:
        """Copy results from the scratch to their places."""
        for i, at in self.drafts.items():
            if i in failed or self.mapped is None:
                continue
            job = self.jobs[i]
            dtype = job.place.dtype if _returns_numbers(job) else torch.uint8
            values = torch.from_numpy(self.mapped[at : at + job.place.numel() * dtype.itemsize]).view(dtype)
            if _wants_rows(job):
                channels, height, width = job.place.shape
                job.place.copy_(values.view(height, width, channels).permute(2, 0, 1))
            else:
                value = values.view(job.place.shape)
                job.place.copy_(value if _returns_numbers(job) else job.run(value.clone()))

    def close(self) -> None:
        self.mapped = None
        if self.scratch >= 0:
            os.close(self.scratch)


def _returns_numbers(job: Job) -> bool:
    """Whether the daemon applies the steps."""
    name = _DTYPES.get(job.place.dtype)
    return job.steps is not None and name is not None and name not in _pictures.untrusted


def _wants_rows(job: Job) -> bool:
    """Whether the daemon writes row by row, with bands interleaved."""
    return not job.place.is_contiguous() and (job.steps is None or _returns_numbers(job) and job.has_one_table())


def _writes_in_place(job: Job) -> bool:
    """Whether the daemon writes to the job's place directly."""
    if job.shared is None or not (_returns_numbers(job) or job.steps is None):
        return False
    bands, _, width = job.place.shape
    return job.place.is_contiguous() or _wants_rows(job) and job.place.stride() == (1, width * bands, bands)


def _element_width(job: Job) -> int:
    return job.place.element_size() if _returns_numbers(job) else 1
