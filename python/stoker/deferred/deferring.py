"""Where deferring begins and ends: around each fetch of a DataLoader, in its worker or, without workers, in the
trainer.

The trainer starts the daemon and gives each worker a connection to it, whatever way the worker is started, and
another one when a worker asks, its daemon having died. A worker that has none does what it would do without us.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import math
import multiprocessing
import multiprocessing.reduction as reduction
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils.data._utils as loading

from .. import _limits
from .._place import here
from .._verbs import StokerError
from .._warning import say, warn
from ..daemon.deaths import Deaths, patience
from ..daemon.session import NOW, Connection, Daemon, Gone, Wait, daemon_of, meeting_place
from ..handover import receiving
from ..handover.workers import handing_over
from . import further, judged, nodes, reach, stream
from .materialize import trust
from .materialize.line import Line
from .materialize.making import maker
from .recipes import canvas, pictures, standins
from .recipes import share as _share
from .recipes.pictures import Recording, Tally
from .torch import tensors
from .torchvision import compose, draws, opening

_everywhere = False  # in all loaders of this process, else in those made within `deferring`
_wanted = threading.local()
_starting = threading.RLock()
_preparing = threading.RLock()
_daemon: Daemon | None = None
_tried = False  # to start one
_generation = 0  # counts them
_deaths = Deaths()
_lost = False  # there is no daemon to be had
_checked = False  # it is known what the daemon may make here
_worker: judged.Account | None = None  # in a worker: of what it reads
_number: int | None = None  # in a worker: its own, among those of its iterator


def enable() -> None:
    """Defer the pictures of all loaders that are iterated from here on; again as further kinds of them are imported."""
    global _everywhere
    if lack := _limits.find_lack():
        _say_once(f"pictures are made as without stoker: {lack}")
        return
    _install()
    if not _everywhere:
        _everywhere = True
        _share.lasts[:] = [lambda: _NOTHING if judged.is_silent() else "", judged.say_let_go, receiving.say]
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


_WORKERS = "torch.utils.data._utils.worker"
_STATEFUL = "torchdata.stateful_dataloader.stateful_dataloader"  # has all of them once more

#: Loaders over PyTorch's: where they are, their iterators without workers and with some, and where the workers' loop is.
_LOADERS = (
    ("torch.utils.data.dataloader", "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter", _WORKERS),
    (_STATEFUL, "_StatefulSingleProcessDataLoaderIter", "_StatefulMultiProcessingDataLoaderIter", _STATEFUL),
)
_seen: set[str] = set()  # of the iterators of these it is seen when they begin
_steps: list[tuple[type, str, Any, Any]] = []  # what is in place at each batch, and what was there


def _install() -> None:
    """See when iterators begin, of all loaders that are there, and each batch of theirs."""
    for module, alone, many, home in _LOADERS:
        found = sys.modules.get(module)
        if found is not None and module not in _seen and hasattr(found, alone) and hasattr(found, many):
            _seen.add(module)
            one, several = getattr(found, alone), getattr(found, many)
            one.__init__ = _alone_in_place_of(taken(one))
            several.__init__ = _many_in_place_of(taken(several), home)
            _put_back()
    if "torchdata.nodes.map" in sys.modules and "torchdata.nodes.map" not in _seen:
        _seen.add("torchdata.nodes.map")
        nodes.install(sys.modules[__name__])
    if not _steps:
        for fetcher in (loading.fetch._MapDatasetFetcher, loading.fetch._IterableDatasetFetcher):
            _put(fetcher, "fetch", _fetch_in_place_of)
        for module, _, many, _ in _LOADERS:
            if module in _seen:
                _put(getattr(sys.modules[module], many), "_reset", _reset_in_place_of)
                _put(getattr(sys.modules[module], many), "_next_data", _next_data_in_place_of)


def taken(kind: Any) -> Any:
    """How such iterators are made, without the start-up hook, which waits there."""
    hook = sys.modules.get("_stoker_feed_hook")
    return kind.__init__ if hook is None else hook.take(kind)


def _put(owner: type, name: str, wrap: Callable[[Any], Any]) -> None:
    before = vars(owner)[name]
    setattr(owner, name, wrap(before))
    _steps.append((owner, name, before, vars(owner)[name]))


def _put_back() -> None:
    """Take away what is in place at each batch."""
    for owner, name, before, ours in reversed(_steps):
        if vars(owner).get(name) is ours:  # nobody has put something around it
            setattr(owner, name, before)
    _steps.clear()


def _let_go() -> None:
    """Take away all that is of no use, as a data set is not fed; in a trainer once there is none that is."""
    if not in_worker() and not judged.are_all_hopeless():
        return
    if maker.line is not None and not maker.line.inherited():
        maker.line.close()
    _put_back()
    pictures.uninstall()


def in_worker() -> bool:
    return _worker is not None or loading.worker.get_worker_info() is not None


def _forked() -> None:
    """In a forked child: a thread of the parent's may hold it."""
    global _starting, _preparing
    _starting, _preparing = threading.RLock(), threading.RLock()


os.register_at_fork(after_in_child=_forked)


def asked() -> bool:
    wanted = _everywhere or getattr(_wanted, "now", False) and pictures.there()
    return wanted and Recording.now is None


def _alone_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any, *rest: Any, **more: Any) -> None:
        original(self, loader, *rest, **more)
        if not asked() or in_worker():
            return
        account = _account_of(loader)
        if not account.is_hopeless():
            begin_alone()
            self._dataset_fetcher._stoker = account

    return __init__


def _account_of(loader: Any) -> judged.Account:
    """The account of a loader's data set, with what its code is like now."""
    account = judged.find_account(loader.dataset, loader)
    account.witness = reach.find_witness(loader.dataset, loader.collate_fn, loader.worker_init_fn)
    return account


def _strange_account(fetcher: Any) -> judged.Account:
    """An account in a worker that the trainer did not supply."""
    account = judged.Account(None)
    account.witness = reach.find_witness(fetcher.dataset, fetcher.collate_fn)
    return account


def begin_alone() -> None:
    """An iteration of this process's own begins."""
    _install()
    _deaths.iteration()
    if pictures.there():  # else at the first fetch after it has come
        with _starting:
            _connected()


def _many_in_place_of(original: Any, home: str) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any, *rest: Any, **more: Any) -> None:
        account = _account_of(loader) if asked() else None
        where, count = sys.modules[home], loader.num_workers
        with supplied(account, count, patience(loader.timeout), where, "_worker_loop") as supply:
            with handing_over(where, "_worker_loop", count if asked() and not in_worker() else 0) as takers:
                original(self, loader, *rest, **more)
                takers.append(self)
            if supply is not None:
                self._stoker_supply = supply

    return __init__


@contextlib.contextmanager
def supplied(account: judged.Account | None, count: int, seconds: float, home: Any, name: str) -> Iterator[_Supply | None]:
    """The workers that are started within, by a loop of that name, are fed, where there is something to be gained."""
    if account is None or account.is_hopeless():
        if account is not None and _steps:
            _let_go()
        yield None
        return
    _install()
    with _starting:
        supply = _supply(count)
        if supply is None:
            yield None
            return
        if account.found()[judged.WAITED]:
            _prepare_fork()
        before = getattr(home, name)
        setattr(home, name, _Loop(supply.theirs, seconds, before, home=(home.__name__, name), slot=account.number, witness=account.witness))
        try:
            yield supply
        finally:
            setattr(home, name, before)
            for end in supply.theirs:
                end.close()


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
    if lack := _limits.find_lack(count):
        _say_once(f"pictures are made by the workers, as without stoker: {lack}")
        return None
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
        self._asking = set(range(count)) if pictures.there() else set()  # else those that import it will

    def __del__(self) -> None:
        for ours in getattr(self, "_ours", ()):  # else Python warns of them where a program asks for that
            ours.close()

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
        self._asked = False

    def connection(self) -> socket.socket | None:
        found = None
        with contextlib.suppress(OSError):  # nothing has come, or the trainer has gone
            while True:
                word, rights, _, _ = self._end.recvmsg(64, socket.CMSG_SPACE(4), NOW)
                if not word:
                    break
                self._generation = word
                found = socket.socket(fileno=int.from_bytes(rights[0][2], sys.byteorder)) if rights else None
        if not self._generation and not self._asked:  # the trainer thought that there were no pictures
            self._asked = True
            self.lost(False)
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

    def __init__(
        self,
        ends: list[socket.socket],
        patience: float,
        loop: Any,
        forked: bool = True,
        home: tuple[str, str] = (_WORKERS, "_worker_loop"),
        slot: int | None = None,
        witness: str = "",
    ) -> None:
        self._ends, self._patience, self._loop, self._forked = ends, patience, loop, forked
        self._home, self._slot, self._witness = home, slot, witness
        self.__wrapped__ = loop  # whose arguments are asked for

    def __reduce__(self) -> Any:  # to a worker that is not forked
        ends = [reduction.DupFd(end.fileno()) for end in self._ends]
        share = reduction.DupFd(_share.file()) if _share.file() >= 0 else None
        left = set(pictures.left) if _checked else None
        return _loop_of, (ends, self._patience, share, left, self._home, self._slot, self._witness, _everywhere)

    def __call__(self, *args: Any) -> None:
        global _worker, _number
        if self._orphaned():
            return
        given = inspect.signature(self._loop).bind(*args)
        _number, _worker = given.arguments.get("worker_id"), judged.Account(self._slot)
        _worker.witness = self._witness
        maker.line = None  # the trainer's
        for number, end in enumerate(self._ends):
            if number == _number and not _limits.find_lack():
                maker.line = Line(_Supplied(end), self._patience)
            else:
                end.close()
        _install()
        if "udf" in given.arguments:  # of torchdata's nodes
            given.arguments["udf"] = nodes.Mapped(sys.modules[__name__], given.arguments["udf"], _worker)
        self._loop(*given.args, **given.kwargs)

    def _orphaned(self) -> bool:
        """Whether the trainer ended before its worker began. Torch sees only that it ends later, and waits for ever."""
        trainer = multiprocessing.parent_process()
        if trainer is None:
            return False
        return os.getppid() != trainer.pid if self._forked else not trainer.is_alive()


def _loop_of(
    ends: list[Any],
    patience: float,
    share: Any,
    left: set[str] | None,
    home: tuple[str, str],
    slot: int | None,
    witness: str,
    everywhere: bool,
) -> _Loop:
    global _checked, _everywhere
    _everywhere = everywhere
    if left is not None:
        trust.trust(left)
        _checked = True
    if share is not None:
        _share.share(share.detach())
    loop = getattr(importlib.import_module(home[0]), home[1])
    return _Loop([socket.socket(fileno=end.detach()) for end in ends], patience, loop, False, home, slot, witness)


def _fetch_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def fetch(self: Any, index: Any) -> Any:
        account = vars(self).get("_stoker")
        if account is None and loading.worker.get_worker_info() is not None:
            account = self._stoker = _worker or _strange_account(self)
        if account is None or Recording.now is not None:  # a data set may iterate a loader of its own
            return original(self, index)
        return fetched(self, account, lambda: _gathered(self, original, index), len(index) if isinstance(index, list) else 1)

    return fetch


def _gathered(fetcher: Any, original: Any, index: Any) -> Any:
    """What it fetches; where something may wait, it is seen when the samples are put together."""
    if Recording.now is None:
        return original(fetcher, index)
    collate, fetcher.collate_fn = fetcher.collate_fn, stream.Gathering(fetcher.collate_fn)
    try:
        return original(fetcher, index)
    finally:
        fetcher.collate_fn = collate


def fetched(by: Any, account: judged.Account, fetch: Callable[[], Any], samples: int) -> Any:
    """What fetch gives, its pictures made by the daemon; by is whatever does the fetching, one after the other."""
    if account.is_hopeless():
        if _steps:
            _let_go()
        return fetch()
    if _left <= 0 and maker.line is not None and maker.line.alive() and account.wants_plain():
        return _measured(fetch, account, False, samples)
    with _share.counting():
        return _looked_at(vars(by), account, fetch, samples)


def _looked_at(own: dict[str, Any], account: judged.Account, fetch: Callable[[], Any], samples: int) -> Any:
    tally = own.get("_stoker_tally")
    if tally is None:
        tally = own["_stoker_tally"] = Tally(account)
    if not pictures.there():
        batch = fetch()
        if not pictures.there():
            _note(tally, False)
        return batch
    if not in_worker() and not own.get("_stoker_begun"):  # in a worker the trainer answers
        own["_stoker_begun"] = True
        with _starting:
            _connected()
    if not _ready() or _cramped():
        return fetch()
    recording = Recording(tally, tensors=not account.witness)
    if account.witness:
        _share.because(_share.PILLOW, f"tensors are made at once because of {account.witness}")
    recording.stream = "dataset_iter" in own
    if _left > 0:
        return _compared(fetch, recording)
    first = not own.setdefault("_stoker_warm", False)  # it pays for what is put in place once
    own["_stoker_warm"] = True
    return _deferred(fetch, recording) if first else _measured(lambda: _deferred(fetch, recording), account, True, samples)


def _measured(fetch: Callable[[], Any], account: judged.Account, fed: bool, samples: int) -> Any:
    """What fetch gives; its processor time, and the daemon's for it, go to the account."""
    assert maker.line is not None
    clock = time.process_time_ns if in_worker() else time.thread_time_ns  # a trainer has threads of its own at work
    begin, before = clock(), maker.line.spent
    batch = fetch()
    account.count_cost(fed, samples, clock() - begin + maker.line.spent - before)
    return batch


_SHARED = "/dev/shm"  # where torch has the tensors that it sends, and we have none
_CRAMPED = 1 << 20  # bytes [J]: less than that and labels may not find room


def _cramped() -> bool:
    """Whether descriptors are scarce, or a worker that sends a batch would fail in a thread of torch's, which tells nobody.

    The script alone fails before, at its pictures.
    """
    if _limits.are_descriptors_scarce():
        return True
    if not in_worker():
        return False
    try:
        there = os.statvfs(_SHARED)
    except OSError:
        return True
    return there.f_bavail * there.f_frsize < _CRAMPED


_NOTHING = (
    "no picture of the first batches can wait: they are made as without stoker (JPEGs that Pillow or torchvision.io "
    "opens are fed; other files, NumPy arrays, OpenCV, video, audio and text are left to their libraries)"
)


def _note(tally: Tally, waited: bool) -> None:
    """Tell the others of a fetch."""
    opened, tally.told = tally.opened - tally.told, tally.opened
    if tally.account is not None and tally.account.count_fetch(waited, opened) and _everywhere:
        say(_NOTHING)


def _deferred(fetch: Callable[[], Any], recording: Recording) -> Any:
    """What fetch returns, with its pictures made by the daemon. The program's code runs once."""
    Recording.now = recording
    try:
        try:
            with standins.placed():
                batch = fetch()
            if recording.stream and recording.used:
                stream.decode_pictures(batch)
        except BaseException:
            maker.abandon(recording)
            raise
        maker.finish(recording)
    finally:
        Recording.now = None
        _note(recording.tally, recording.used)
    return batch


_left = int(os.environ.get("STOKER_FEED_VERIFY") or 0)  # batches of which Pillow makes every picture as well


def _compared(fetch: Callable[[], Any], recording: Recording) -> Any:
    """A batch of which every picture is made by Pillow as well. Where one differs the batch holds Pillow's."""
    global _left
    _left -= 1
    maker.differing = differing = []
    try:
        batch = _deferred(fetch, recording)
    finally:
        maker.differing = None
    if differing:
        _left = 0
        assert maker.line is not None
        maker.line.close()
        _say(f"verify: a picture differs from Pillow's ({differing[0]:.300}): from here on this process is not fed")
    elif not _left:
        _say("verify: every picture of the first batches equals Pillow's, bit by bit")
    return batch


def _say(sentence: str) -> None:
    """A line on stderr; of several workers the first speaks, but of faults each."""
    if not _number or "not fed" in sentence:
        say(sentence)


_needs: set[str] = set()


def _needed(what: str) -> None:
    """Say once where pixels were asked for that could not wait."""
    where = _asking()
    _share.because(_share.PILLOW if what == pictures.PIXELS else _share.PART, f"{where} asks for {what}")
    if where not in _needs and len(_needs) < 3:
        _needs.add(where)
        _say(f"{where} asks for {what}, which is made there and then")


def _asking() -> str:
    """The program's line that is at work, and who on its behalf; the library's, where the data set is one's as well."""
    frame: Any = sys._getframe(1)
    line, by, own = "a library", "", ""
    while frame is not None and frame.f_code is not _deferred.__code__:  # who waits for the batch is not at work
        at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if not _is_library(frame):
            return at + by
        name = frame.f_globals.get("__name__", "")
        package = name.partition(".")[0]
        if not by and package != _OURS:
            line, by, own = at, f" ({name}.{frame.f_code.co_name})", package
        elif by and own and package not in (own, _OURS, "torch"):  # who asked it
            line, own = at, ""
        frame = frame.f_back
    return line.rpartition(_INSTALLED)[2] + by


def _is_library(frame: Any) -> bool:
    """Whether a frame runs code that is installed, Python's own or ours."""
    file = frame.f_code.co_filename
    known = frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES
    return known or _INSTALLED in file or file.startswith((_STANDARD, "<frozen "))


_OURS = __name__.partition(".")[0]
_LIBRARIES = {_OURS, "PIL", "torch", "torchvision", "numpy"}  # also where they run from a checkout
_INSTALLED = f"{os.sep}site-packages{os.sep}"
_STANDARD = os.path.dirname(os.__file__) + os.sep
Recording.needed, Recording.asking = staticmethod(_needed), staticmethod(_asking)


def _ready() -> bool:
    """Whether pictures can be made elsewhere.

    What it takes is put in place as soon as the program has imported what it is for.
    """
    if not pictures.there() or maker.line is None or not maker.line.ready():
        return False
    with _preparing:
        if not _trusted(maker.line) or not pictures.install():
            return False
        _try_further(maker.line)
        _put_in_place()
    return True


def _put_in_place() -> None:
    """What stands for functions in this process, besides Pillow's own methods."""
    with standins.placed():  # some look at the stand-ins of others
        canvas.install()
        draws.install(in_worker())
        tensors.install(sys.modules)
        compose.install(in_worker())
        opening.install(in_worker())
        further.install()


def _prepare_fork() -> None:
    """Put in place here what each worker would, one after the other and in each epoch, where it has come to that."""
    if _checked and pictures.there() and multiprocessing.get_all_start_methods()[0] == "fork":
        with _preparing:
            if pictures.install():
                _put_in_place()


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
            if pictures.there() and (not _checked or further.wanted()):  # here, so that workers need not
                with _lent(_daemon) as line:
                    if not _trusted(line) and _lost:
                        return []
                    _try_further(line)
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
        left = trust.check(line)
    except trust.Unfit as why:
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
    trust.trust(left)
    _checked = True
    if left:
        _say_once(trust.say_left(left))
    return True


def _try_further(line: Line) -> None:
    """See what the daemon may make of what the program has imported by now."""
    if _checked and further.wanted():
        for sentence in further.check(line):
            _say_once(sentence)


_once: set[str] = set()


def _say_once(sentence: str) -> None:
    if sentence not in _once:
        _once.add(sentence)
        say(sentence)


def fed(fetch: Callable[[], Any], job: str | None) -> Any:
    """What fetch gives, outside of a loader: its pictures are made by the daemon that the job's processes on this
    node share."""
    if Recording.now is None and _connected(job) and _ready():
        return _deferred(fetch, Recording(Tally()))
    return fetch()


def _connected(job: str | None = None) -> bool:
    """Whether this process itself has a line, which it gets where it has none."""
    if maker.line is None or maker.line.inherited() or maker.line.closed():  # by an iterator that it did not pay for
        if lack := _limits.find_lack():
            _say_once(f"pictures are made as without stoker: {lack}")
            return False
        maker.line = Line(_Own(job), patience())
    return maker.line.ready()


def _unfit() -> str:
    """Why nothing can wait here, whatever the daemon makes."""
    if not hasattr(torch.utils, "swap_tensors"):
        return f"it needs PyTorch 2.3 or newer, not {torch.__version__}"
    return "" if importlib.util.find_spec("PIL") else "there is no Pillow"
