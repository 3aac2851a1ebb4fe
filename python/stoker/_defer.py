"""Where deferring begins and ends: around each fetch of a DataLoader, in its worker or, without workers, in the
trainer.

The trainer starts the daemon and gives each worker a connection to it, whatever way the worker is started, and
another one when a worker asks, its daemon having died. A worker that has none does what it would do without us.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import math
import multiprocessing
import multiprocessing.reduction as reduction
import opcode
import os
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils.data._utils as loading
from torch.utils.data import dataloader

from . import _arrays, _pictures, _share, _tensors, _trust
from ._deaths import Deaths, patience
from ._feed import NOW, Connection, Daemon, Gone, Wait, daemon_of, meeting_place
from ._line import Line
from ._making import maker
from ._pictures import Recording, Tally
from ._place import here
from ._verify import restore, states, twice
from ._verbs import StokerError
from ._warning import say, warn

_everywhere = False  # in all loaders of this process, else in those made within `deferring`
_wanted = threading.local()
_starting = threading.Lock()
_daemon: Daemon | None = None
_tried = False  # to start one
_generation = 0  # counts them
_deaths = Deaths()
_lost = False  # there is no daemon to be had
_checked = False  # it is known what the daemon may make here


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
    many._reset = _reset_in_place_of(many._reset)
    many._next_data = _next_data_in_place_of(many._next_data)


def _forked() -> None:
    """In a forked child: a thread of the parent's may hold it."""
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def _asked() -> bool:
    wanted = _everywhere or getattr(_wanted, "now", False) and "PIL.Image" in sys.modules
    return wanted and Recording.now is None


def _alone_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any) -> None:
        original(self, loader)
        if _asked() and loading.worker.get_worker_info() is None:
            _deaths.iteration()
            if _connected():
                self._dataset_fetcher._stoker = True

    return __init__


def _many_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any) -> None:
        if not _asked():
            return original(self, loader)
        with _starting:
            supply = _supply(loader.num_workers)
            if supply is None:
                return original(self, loader)
            loop = _Loop(supply.theirs, patience(loader.timeout), loading.worker._worker_loop)
            before, loading.worker._worker_loop = loading.worker._worker_loop, loop
            try:
                original(self, loader)
                self._stoker_supply = supply
            finally:
                loading.worker._worker_loop = before
                for end in supply.theirs:
                    end.close()

    return __init__


def _reset_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def _reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "_stoker_supply" in vars(self):  # workers that go on: another iteration begins
            _deaths.iteration()
            self._stoker_supply.serve()
        return original(self, *args, **kwargs)

    return _reset


def _next_data_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def _next_data(self: Any) -> Any:
        if "_stoker_supply" in vars(self):
            self._stoker_supply.serve()
        return original(self)

    return _next_data


def _supply(count: int) -> _Supply | None:
    """For so many workers; None where they are not to be fed."""
    _deaths.iteration()
    try:
        supply = _Supply(count)
    except OSError as error:  # no descriptor is left
        say(f"pictures are made by the workers, as without stoker: {error}")
        return None
    supply.serve()
    return None if _lost else supply


class _Supply:
    """The trainer's way to the workers of an iterator: each is sent a connection to the daemon, and another one when
    it has lost that."""

    def __init__(self, count: int) -> None:
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(count)]
        self.theirs = [theirs for _, theirs in pairs]
        self._ours = [Connection(ours) for ours, _ in pairs]  # which a forked child lets go of
        self._numbers = {ours.fileno(): number for number, (ours, _) in enumerate(pairs)}
        self._poll = select.poll()
        for ours, _ in pairs:
            self._poll.register(ours, select.POLLIN)
        self._asking = set(range(count))

    def serve(self) -> None:
        """Answer those that have asked. It takes a system call where none has."""
        if self._ours[0].inherited():
            return
        try:
            for descriptor, _ in self._poll.poll(0):
                self._hear(descriptor)
            if self._asking:
                self._answer()
        except Exception as error:  # they make their pictures themselves
            self._asking.clear()
            say(f"pictures are made by the workers, as without stoker: {error}")

    def _hear(self, descriptor: int) -> None:
        number = self._numbers[descriptor]
        try:
            word = self._ours[number].words()
        except OSError:
            word = b""
        if not word:  # the worker has ended
            self._poll.unregister(descriptor)
            return
        self._asking.add(number)
        if word == b"hung %d" % _generation and _daemon is not None:
            _daemon.give_up()

    def _answer(self) -> None:
        numbers = sorted(self._asking)
        for number, end in zip(numbers, _ends(len(numbers))):
            with end, contextlib.suppress(Gone):
                self._asking.discard(number)
                self._ours[number].hand(b"%d" % _generation, end.fileno())


class _Supplied:
    """A worker's end of that."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._generation = b""

    def connection(self) -> socket.socket | None:
        found = None
        with contextlib.suppress(OSError):  # nothing has come, or the trainer has gone
            while True:
                word, rights, _, _ = self._end.recvmsg(64, socket.CMSG_SPACE(4), NOW)
                if not word:
                    break
                self._generation = word
                found = socket.socket(fileno=int.from_bytes(rights[0][2], sys.byteorder)) if rights else None
        return found

    def lost(self, hung: bool) -> None:
        with contextlib.suppress(OSError):
            self._end.send(
                (b"hung " if hung else b"dead ") + self._generation, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
            )


class _Own:
    """Connections of a process that loads by itself."""

    def __init__(self, job: str | None) -> None:
        self._job = job

    def connection(self) -> socket.socket | None:
        return next(iter(_ends(1, self._job)), None)

    def lost(self, hung: bool) -> None:
        if hung and _daemon is not None:
            _daemon.give_up()


class _Loop:
    """What a worker runs: the loop that was there, connected to the trainer's daemon."""

    def __init__(self, ends: list[socket.socket], patience: float, loop: Any, forked: bool = True) -> None:
        self._ends, self._patience, self._loop, self._forked = ends, patience, loop, forked

    def __reduce__(self) -> Any:  # to a worker that is not forked
        ends = [reduction.DupFd(end.fileno()) for end in self._ends]
        share = reduction.DupFd(_share.file()) if _share.file() >= 0 else None
        return _loop_of, (ends, self._patience, share, set(_pictures.left) if _checked else None)

    def __call__(self, *args: Any) -> None:
        if self._orphaned():
            return
        mine = inspect.signature(self._loop).bind(*args).arguments.get("worker_id")
        maker.line = None  # the trainer's
        for number, end in enumerate(self._ends):
            if number == mine:
                maker.line = Line(_Supplied(end), self._patience)
            else:
                end.close()
        _install()
        self._loop(*args)

    def _orphaned(self) -> bool:
        """Whether the trainer ended before its worker began. Torch sees only that it ends later, and waits for ever."""
        trainer = multiprocessing.parent_process()
        if trainer is None:
            return False
        return os.getppid() != trainer.pid if self._forked else not trainer.is_alive()


def _loop_of(ends: list[Any], patience: float, share: Any, left: set[str] | None) -> _Loop:
    global _checked
    if left is not None:
        _trust.trust(left)
        _checked = True
    if share is not None:
        _share.share(share.detach())
    return _Loop([socket.socket(fileno=end.detach()) for end in ends], patience, loading.worker._worker_loop, forked=False)


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
    if not _ready() or not tally.look() or _cramped():
        return fetch()
    again = isinstance(fetcher, loading.fetch._MapDatasetFetcher)
    if _left > 0:
        return _compared(fetch, again, tally)
    return (_deferred_or_again if again else _deferred)(fetch, Recording(again, tally))


_SHARED = "/dev/shm"  # where torch has the tensors that it sends, and we have none
_CRAMPED = 1 << 20  # bytes [J]: less than that and labels may not find room


def _cramped() -> bool:
    """Whether a worker that sends a batch would fail in a thread of torch's, which tells nobody.

    The script alone fails before, at its pictures.
    """
    if loading.worker.get_worker_info() is None:
        return False
    try:
        there = os.statvfs(_SHARED)
    except OSError:
        return True
    return there.f_bavail * there.f_frsize < _CRAMPED


def _deferred_or_again(fetch: Callable[[], Any], recording: Recording) -> Any:
    """A batch; where it fails, fetched once more as without us, with the same random numbers: a library may not take
    what is deferred.

    Its own errors come again, as the script alone has them. Where they do not, they were ours: then nothing is
    deferred any more. After a file that seemed sound others are looked at more closely, and that is all.
    """
    before = states()
    try:
        return _deferred(fetch, recording)
    except Exception as error:
        ours = recording.failed or recording.sequence
        if not ours and (not recording.used or _own(error)):  # nothing of ours was there
            raise
        why = f"{type(error).__name__} ({str(error):.200})"
    restore(before)
    if recording.failed:
        recording.tally.trusting = False
        return fetch()
    _arrays.displace(recording)
    batch = fetch()  # out here, so that an error of its own has none of ours behind it
    if _arrays.refuse(recording):
        _say(f"{why} where arrays waited, and none without: from here on arrays of pictures are made at once")
        return batch
    assert maker.line is not None
    maker.line.close()
    _say(f"{why} while pictures waited, and none without: from here on this process is not fed")
    return batch


def _own(error: Exception) -> bool:
    """Whether Python code raised it with nothing in hand that waits: then it is the script's, which must not be asked
    again."""
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
    return any(
        isinstance(each, _tensors.Later)
        or type(each) is _arrays.LaterArray
        or isinstance(each, sys.modules["PIL.Image"].Image)
        and type(each._im) is _pictures.Recipe
        for each in inside
    )


_unfed = 3  # batches in which nothing waits, until that is said


def _deferred(fetch: Callable[[], Any], recording: Recording) -> Any:
    global _unfed
    Recording.now = recording
    try:
        with _arrays.standing():
            batch = fetch()
    finally:
        try:
            maker.finish(recording)
        finally:
            Recording.now = None
        if recording.used:
            recording.tally.latest = recording.tally.fetches
        _unfed = -1 if recording.used else max(_unfed - 1, -1)
        if _unfed == 0 and _everywhere:
            _say(
                "no picture of the first batches can wait: they are made as without stoker (JPEGs and PNGs "
                "that Pillow opens are fed, OpenCV, torchvision.io, video, audio and text are left as they are)"
            )
        if recording.failed:
            raise OSError("a file that seemed sound is not")
    if recording.sequence:  # even where the program has an answer to that
        raise TypeError("an array that is not made yet is no sequence")
    return _arrays.settle(batch, recording)


_left = int(os.environ.get("STOKER_FEED_VERIFY") or 0)  # batches that are to be made twice


def _compared(fetch: Callable[[], Any], again: bool, tally: Tally) -> Any:
    """A batch of which every picture is made by Pillow as well, and where samples can be asked for again all of it by
    the script alone."""
    global _left
    _left -= 1
    maker.differing = differing = []
    try:
        recording = Recording(again, tally)
        batch, equal = (
            twice(_share.uncounted()(fetch), lambda: _deferred(fetch, recording))
            if again
            else (_deferred(fetch, recording), True)
        )
    finally:
        maker.differing = None
    if differing or not equal:
        _left = 0
        assert maker.line is not None
        maker.line.close()
        which = (
            f"a picture differs from Pillow's ({differing[0]:.300})"
            if differing
            else "a batch that was fetched twice differs (has the data set a state of its own?)"
        )
        _say(f"verify: {which}: from here on this process is not fed")
    elif not _left:
        _say("verify: the first batches are equal, bit by bit")
    return batch


def _say(sentence: str) -> None:
    """A line on stderr; of several workers the first speaks, but of faults each."""
    info = loading.worker.get_worker_info()
    if info is None or info.id == 0 or "not fed" in sentence:
        say(sentence)


_needs: set[str] = set()


def _needed(what: str) -> None:
    """Say once where pixels were asked for that could not wait."""
    where = _asking()
    _share.because(_share.PILLOW if what == _pictures.PIXELS else _share.PART, f"{where} asks for {what}")
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


_LIBRARIES = tuple(
    f"{os.sep}{name}{os.sep}"
    for name in ("PIL", "torch", "torchvision", "numpy", "stoker", "multiprocessing", "site-packages")
)
Recording.needed, Recording.asking = staticmethod(_needed), staticmethod(_asking)


def _ready() -> bool:
    """Whether pictures can be made elsewhere.

    What it takes is put in place as soon as the program has imported what it is for.
    """
    if maker.line is None or not maker.line.ready():
        return False
    if "PIL.Image" in sys.modules and not _trusted(maker.line):
        return False
    if not (_pictures.install() if "PIL.Image" in sys.modules else _unfed > 0):
        return False
    _tensors.install(sys.modules)
    return True


def _ends(count: int, job: str | None = None) -> list[socket.socket]:
    """Connections to the daemon, of this job's processes on this node; none where there cannot be any, which is said
    once."""
    global _lost
    if _lost:
        return []
    if why := _unfit():
        _lost = True
        warn(f"pictures are made by the workers, as without stoker: {why}")
        return []
    for _ in range(2):  # it may have been just ending
        if not _started(job):
            break
        assert _daemon is not None
        try:
            if "PIL.Image" in sys.modules and not _checked:  # here, so that workers need not
                with _lent(_daemon) as line:
                    if not _trusted(line) and _lost:
                        return []
            return [_daemon.connect(Wait(math.inf, say)).detach() for _ in range(count)]
        except (StokerError, OSError) as error:
            _say_once(f"pictures are made by Pillow for now: {error}")
    return []


def _started(job: str | None) -> bool:
    """Whether there is a daemon, which is started where there is none, and again where it has died."""
    global _daemon, _generation, _tried
    if _daemon is not None and not _daemon.ended():
        return True
    why = "" if _daemon is None else f"stoker feed has ended{_daemon.said()}"
    if _tried and not _deaths.bear(True):
        _say_once(f"{why or 'there is no daemon'}: pictures are made by Pillow for now")
        return False
    _tried = True
    place = here()
    job = job or place.job()
    try:
        _daemon = daemon_of(
            None if job is None else meeting_place(job + "-pictures"), place.local_world, Wait(math.inf, say), False
        )
    except (StokerError, OSError) as error:
        _say_once(f"pictures are made by Pillow for now: {error}")
        return False
    _generation += 1
    if why:
        say(f"{why}: another daemon makes the pictures from here on, Pillow made those that were under way")
    return True


@contextlib.contextmanager
def _lent(daemon: Daemon) -> Iterator[Line]:
    """A line of this process's own, for the time."""
    line = Line(_Given(daemon.connect(Wait(math.inf, say)).detach()), patience())
    line.ready()
    try:
        yield line
    finally:
        line.close()


class _Given:
    """One connection, and no other."""

    def __init__(self, end: socket.socket) -> None:
        self._end: socket.socket | None = end

    def connection(self) -> socket.socket | None:
        end, self._end = self._end, None
        return end

    def lost(self, hung: bool) -> None:
        pass


def _trusted(line: Line) -> bool:
    """Whether it is known what the daemon may make here, and that it is something."""
    global _checked, _lost
    if _checked:
        return True
    if _lost:
        return False
    try:
        left = _trust.check(line)
    except _trust.Unfit as why:
        _lost = True
        _say_once(f"pictures are made by the workers, as without stoker: {why}")
        return False
    except Gone as why:
        _say_once(f"pictures are made by Pillow for now: {why}")
        return False
    except Exception as why:  # a fault of ours, which is not to end a training
        _lost = True
        _say_once(f"pictures are made by the workers, as without stoker: its trials ended with {why!r}")
        return False
    _trust.trust(left)
    _checked = True
    if left:
        _say_once(_trust.say_left(left))
    return True


_once: set[str] = set()


def _say_once(sentence: str) -> None:
    if sentence not in _once:
        _once.add(sentence)
        say(sentence)


def fed(fetch: Callable[[], Any], job: str | None) -> Any:
    """What fetch gives, outside of a loader: its pictures are made by the daemon that the job's processes on this
    node share."""
    if Recording.now is None and _connected(job) and _ready():
        return _deferred_or_again(fetch, Recording(True, Tally()))
    return fetch()


def _connected(job: str | None = None) -> bool:
    """Whether this process itself has a line, which it gets where it has none."""
    if maker.line is None or maker.line.inherited() or maker.line.closed():  # by an iterator that it did not pay for
        maker.line = Line(_Own(job), patience())
    return maker.line.ready()


def _unfit() -> str:
    """Why nothing can wait here, whatever the daemon makes."""
    if not hasattr(torch.utils, "swap_tensors"):
        return f"it needs PyTorch 2.3 or newer, not {torch.__version__}"
    return "" if importlib.util.find_spec("PIL") else "there is no Pillow"
