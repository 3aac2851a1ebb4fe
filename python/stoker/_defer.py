"""Where deferring begins and ends: around each fetch of a DataLoader, in its worker or, without workers, in the trainer.

The trainer starts the daemon and gives each worker a connection to it, whatever way the worker is started. A worker that
has none, or whose daemon has ended, does what it would do without us.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import multiprocessing.reduction as reduction
import opcode
import os
import platform
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils.data._utils as loading
from torch.utils.data import dataloader

from . import _files, _making, _pictures, _share, _tensors
from ._feed import Daemon, Wait, daemon_of, meeting_place
from ._line import Line
from ._pictures import PILLOW, Recording, Tally
from ._place import here
from ._room import Rooms
from ._verify import restore, states, twice
from ._verbs import StokerError
from ._warning import warn

_everywhere = False  # in all loaders of this process, else in those made within `deferring`
_wanted = threading.local()
_starting = threading.Lock()
_daemon: Daemon | None = None
_lost = False  # there is no daemon to be had


def enable() -> None:
    """Defer the pictures of all loaders that are iterated from here on."""
    global _everywhere
    _install()
    _everywhere = True
    _share.begin()


@contextlib.contextmanager
def deferring() -> Iterator[None]:
    """Defer the pictures of the iterators that are made within."""
    _install()
    _wanted.now = True
    try:
        yield
    finally:
        _wanted.now = False


@functools.cache
def _install() -> None:
    for fetcher in (loading.fetch._MapDatasetFetcher, loading.fetch._IterableDatasetFetcher):
        fetcher.fetch = _fetch_in_place_of(fetcher.fetch)
    alone, many = dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter
    alone.__init__ = _alone_in_place_of(alone.__init__)
    many.__init__ = _many_in_place_of(many.__init__)


def _forked() -> None:
    """In a forked child: a lock may be held by a thread of the parent's, and the fetch under way is the parent's."""
    global _starting
    _starting = threading.Lock()
    _making.lock = threading.RLock()
    _making.rooms = Rooms()
    _files.forked()
    _pictures.lock = threading.RLock()
    _share.forked()
    Recording.now = None


def _forking() -> None:
    """Before a fork: what a child would see of the fetch under way, the parent writes anew."""
    if Recording.now is not None and Recording.now.files is not None:
        Recording.now.files.part()


os.register_at_fork(before=_forking, after_in_child=_forked)


def _asked() -> bool:
    wanted = _everywhere or getattr(_wanted, "now", False) and "PIL.Image" in sys.modules
    return wanted and Recording.now is None


def _alone_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any) -> None:
        original(self, loader)
        if _asked() and loading.worker.get_worker_info() is None and _connected():
            self._dataset_fetcher._stoker = True

    return __init__


def _many_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any) -> None:
        if not _asked():
            return original(self, loader)
        with _starting:
            ends = _ends(loader.num_workers)
            if not ends:
                return original(self, loader)
            before, loading.worker._worker_loop = loading.worker._worker_loop, _Loop(ends, loading.worker._worker_loop)
            try:
                return original(self, loader)
            finally:
                loading.worker._worker_loop = before
                for end in ends:
                    end.close()

    return __init__


class _Loop:
    """What a worker runs: the loop that was there, connected to the daemon."""

    def __init__(self, ends: list[socket.socket], loop: Any) -> None:
        self._ends, self._loop = ends, loop

    def __reduce__(self) -> Any:  # to a worker that is not forked
        ends = [reduction.DupFd(end.fileno()) for end in self._ends]
        return _loop_of, (ends, reduction.DupFd(_share.file()) if _share.file() >= 0 else None)

    def __call__(self, *args: Any) -> None:
        mine = inspect.signature(self._loop).bind(*args).arguments.get("worker_id")
        _making.daemon = None  # the trainer's
        for number, end in enumerate(self._ends):
            if number == mine:
                _making.daemon = Line(end)
            else:
                end.close()
        _install()
        self._loop(*args)


def _loop_of(ends: list[Any], share: Any) -> _Loop:
    if share is not None:
        _share.share(share.detach())
    return _Loop([socket.socket(fileno=end.detach()) for end in ends], loading.worker._worker_loop)


def _fetch_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def fetch(self: Any, index: Any) -> Any:
        wanted = getattr(self, "_stoker", False) or loading.worker.get_worker_info() is not None
        if not wanted or Recording.now is not None:  # a data set may iterate a loader of its own
            return original(self, index)
        with _share.counting():
            return _fetched(self, lambda: original(self, index))

    return fetch


def _fetched(fetcher: Any, fetch: Callable[[], Any]) -> Any:
    tally = vars(fetcher).setdefault("_stoker_tally", Tally())
    if not _ready() or not tally.look():
        return fetch()
    again = isinstance(fetcher, loading.fetch._MapDatasetFetcher)
    if _left > 0:
        return _compared(fetch, again, tally)
    return (_deferred_or_again if again else _deferred)(fetch, Recording(again, tally))


def _deferred_or_again(fetch: Callable[[], Any], recording: Recording) -> Any:
    """A batch; where it fails, fetched once more as without us, with the same random numbers: a library may not take what is deferred.

    Its own errors come again, as the script alone has them. Where they do not, they were ours: then nothing is deferred any more.
    After a file that seemed sound others are looked at more closely, and that is all.
    """
    before = states()
    try:
        return _deferred(fetch, recording)
    except Exception as error:
        if not recording.failed and (not recording.used or _own(error)):  # nothing of ours was there
            raise
        why = f"{type(error).__name__} ({str(error):.200})"
    restore(before)
    if recording.failed:
        recording.tally.trusting = False
        return fetch()
    batch = fetch()  # out here, so that an error of its own has none of ours behind it
    assert _making.daemon is not None
    _making.daemon.close()
    _say(f"{why} where pictures waited, and none without: from here on this process is not fed")
    return batch


def _own(error: Exception) -> bool:
    """Whether Python code raised it with nothing in hand that waits: then it is the script's, which must not be asked again."""
    trace = error.__traceback__
    if trace is None or error.__context__ is not None or error.__cause__ is not None:
        return False
    while not any(map(_waits, list(trace.tb_frame.f_locals.values()))):
        if trace.tb_next is None:
            return opcode.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
        trace = trace.tb_next
    return False


def _waits(value: Any) -> bool:
    """Whether it is a picture or tensor to be made later, or a list of such."""
    inside = value.values() if type(value) is dict else value if type(value) in (list, tuple) else (value,)
    return any(isinstance(each, _tensors.Later) or isinstance(each, sys.modules["PIL.Image"].Image) and type(each._im) is _pictures.Recipe for each in inside)


_unfed = 3  # batches in which nothing waits, until that is said


def _deferred(fetch: Callable[[], Any], recording: Recording) -> Any:
    global _unfed
    Recording.now = recording
    try:
        return fetch()
    finally:
        try:
            _making.finish(recording)
        finally:
            Recording.now = None
        if recording.used:
            recording.tally.latest = recording.tally.fetches
        _unfed = -1 if recording.used else max(_unfed - 1, -1)
        if _unfed == 0 and _everywhere:
            _say("no picture of the first batches can wait: they are made as without stoker (JPEGs and PNGs that Pillow opens are fed; OpenCV, torchvision.io, video, audio and text are left as they are)")
        if recording.failed:
            raise OSError("a file that seemed sound is not")


_left = int(os.environ.get("STOKER_FEED_VERIFY") or 0)  # batches that are to be made twice


def _compared(fetch: Callable[[], Any], again: bool, tally: Tally) -> Any:
    """A batch of which every picture is made by Pillow as well, and where samples can be asked for again all of it by the script alone."""
    global _left
    _left -= 1
    _making.checked = differing = []
    try:
        recording = Recording(again, tally)
        batch, equal = twice(_share.uncounted()(fetch), lambda: _deferred(fetch, recording)) if again else (_deferred(fetch, recording), True)
    finally:
        _making.checked = None
    if differing or not equal:
        _left = 0
        assert _making.daemon is not None
        _making.daemon.close()
        which = f"a picture differs from Pillow's ({differing[0]:.300})" if differing else "a batch that was fetched twice differs (has the data set a state of its own?)"
        _say(f"verify: {which}: from here on this process is not fed")
    elif not _left:
        _say("verify: the first batches are equal, bit by bit")
    return batch


def _say(sentence: str) -> None:
    """A line on stderr; of several workers the first speaks, but of faults each."""
    info = loading.worker.get_worker_info()
    if info is None or info.id == 0 or "not fed" in sentence:
        sys.stderr.write(f"stoker: feed: {sentence}\n")


_needs: set[str] = set()


def _needed(what: str) -> None:
    """Say once where pixels were asked for that could not wait."""
    where = _asking()
    _share.because(_share.PART if what == _tensors.VALUES else _share.PILLOW, f"{where} asks for {what}")
    if where not in _needs and len(_needs) < 3:
        _needs.add(where)
        _say(f"{where} asks for {what}, which is made there and then")


def _asking() -> str:
    """The program's line that is at work, and who on its behalf."""
    frame: Any = sys._getframe(1)
    by = ""
    while frame is not None and any(part in frame.f_code.co_filename for part in _LIBRARIES):
        if not by and not frame.f_globals["__name__"].startswith("stoker."):
            by = f" ({frame.f_globals['__name__']}.{frame.f_code.co_name})"
        frame = frame.f_back
    return (f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "a library") + by


_LIBRARIES = tuple(f"{os.sep}{name}{os.sep}" for name in ("PIL", "torch", "torchvision", "numpy", "stoker", "multiprocessing", "site-packages"))
Recording.needed, Recording.asking = staticmethod(_needed), staticmethod(_asking)


def _ready() -> bool:
    """Whether pictures can be made elsewhere. What it takes is put in place as soon as the program has imported what it is for."""
    if _making.daemon is None or not _making.daemon.alive():
        return False
    if not (_pictures.install() if "PIL.Image" in sys.modules else _unfed > 0):
        return False
    _tensors.install(sys.modules)
    return True


def _ends(count: int, job: str | None = None) -> list[socket.socket]:
    """Connections to the daemon, of this job's processes on this node; none where there cannot be any, which is said once."""
    global _daemon, _lost
    if _lost:
        return []
    why = _unfit()
    for fresh in (False, True):
        try:
            if why:
                raise StokerError(why)
            wait = Wait(math.inf, warn)
            if _daemon is None or fresh:
                place = here()
                job = job or place.job()
                _daemon = daemon_of(None if job is None else meeting_place(job + "-pictures"), place.local_world, wait, fresh)
            return [_daemon.connect(wait).detach() for _ in range(count)]
        except (StokerError, OSError) as error:
            if why or fresh:
                _lost = True
                warn(f"pictures are made by the workers, as without stoker: {error}")
                break
    return []


def fed(fetch: Callable[[], Any], job: str | None) -> Any:
    """What fetch gives, outside of a loader: its pictures are made by the daemon that the job's processes on this node share."""
    if Recording.now is None and _connected(job) and _ready():
        return _deferred_or_again(fetch, Recording(True, Tally()))
    return fetch()


def _connected(job: str | None = None) -> bool:
    """Whether this process itself has a line, which it gets where it has none."""
    if _making.daemon is None or not _making.daemon.alive():
        for end in _ends(1, job):
            _making.daemon = Line(end)
    return _making.daemon is not None and _making.daemon.alive()


def _unfit() -> str:
    """Why the daemon's pixels would not be Pillow's here."""
    if not hasattr(torch.utils, "swap_tensors"):
        return f"it needs PyTorch 2.3 or newer, not {torch.__version__}"
    if platform.machine() != "x86_64":
        return f"the daemon gives Pillow's bytes on x86-64, not on {platform.machine()}"
    import importlib.metadata

    try:
        version = importlib.metadata.version("pillow")
    except importlib.metadata.PackageNotFoundError:
        return "there is no Pillow"
    return "" if version.startswith(PILLOW) else f"the daemon gives the bytes of Pillow {PILLOW}x, not of {version}"
