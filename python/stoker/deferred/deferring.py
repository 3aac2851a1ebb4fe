"""Begins and ends deferring: around each fetch of a DataLoader, in a worker or in the trainer.

The trainer starts the daemon and gives each worker a connection to it, however the worker is
started. A worker whose daemon has died asks the trainer for another connection. A worker without a
connection runs the script's code unchanged.
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
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data._utils as loading

from .. import _limits
from .._place import here
from .._verbs import StokerError
from .._warning import say, say_once
from ..daemon.deaths import Deaths, patience
from ..daemon.session import (
    NOW,
    Connection,
    Daemon,
    Gone,
    Wait,
    daemon_of,
    meeting_place,
)
from ..daemon.sockets import Socket, pair
from ..handover import receiving
from ..handover.workers import handing_over, leave_to_trainer, wrap_exception
from ..remote.iterators import choose_cluster, in_cluster, say_why_here
from . import further, nodes, payoff, reach, stream
from .materialize import trust
from .materialize.dispatch import materializer
from .materialize.line import Line
from .recipes import canvas, pictures, replacements
from .recipes import share as _share
from .recipes.pictures import Recording, Tally
from .torch import tensors
from .torchvision import compose, draws, opening

if TYPE_CHECKING:
    from types import FrameType, ModuleType

_everywhere = False  # defer in all loaders of this process, not only in those made within `deferring`
_wanted = threading.local()
_starting = threading.RLock()
_preparing = threading.RLock()
_daemon: Daemon | None = None
_tried = False  # whether a start was tried
_generation = 0  # number of daemons started so far
_deaths = Deaths()
_lost = False  # whether no daemon can be had any more
_checked = False  # whether the trials have run, so that `pictures.untrusted` is final
_worker: payoff.Account | None = None  # in a worker: the account of its data set
_number: int | None = None  # in a worker: its number within the iterator


def enable(ray: str | None = None, workers: int | None = None) -> None:
    """Defer the pictures of all loaders that are iterated from now on.

    ray is the address of a Ray cluster ("auto", "HOST:PORT", or "local" for one of this machine),
    in which the loaders' workers run from now on; workers is how many each loader gets there, if
    not its own number. A second call also covers loader classes that were imported since the first.
    """
    global _everywhere
    if ray is not None or workers is not None:
        choose_cluster(ray, workers)
    if lack := _limits.find_lack():
        say_once(f"pictures are made as without stoker: {lack}")
        return
    _install()
    if not _everywhere:
        _everywhere = True
        _share.lasts[:] = [lambda: _NOTHING if payoff.is_silent() else "", payoff.say_dropped, receiving.say]
        _share.begin()


@contextlib.contextmanager
def deferring() -> Iterator[None]:
    """Defer the pictures of iterators that are made within this context."""
    _install()
    _wanted.now = True
    try:
        yield
    finally:
        _wanted.now = False


_WORKERS = "torch.utils.data._utils.worker"
_STATEFUL = "torchdata.stateful_dataloader.stateful_dataloader"  # has a copy of each of these classes

#: Loader classes: module, iterator class without workers, iterator class with workers, and the
#: module of the worker loop.
_LOADERS = (
    ("torch.utils.data.dataloader", "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter", _WORKERS),
    (_STATEFUL, "_StatefulSingleProcessDataLoaderIter", "_StatefulMultiProcessingDataLoaderIter", _STATEFUL),
)
_seen: set[str] = set()  # modules of _LOADERS whose iterators are patched
_steps: list[tuple[type, str, Any, Any]] = []  # patches of the calls made for each batch: class, name, before, after


def _install() -> None:
    """Patch the iterators of all imported loaders, and the calls they make for each batch."""
    for module, alone, many, home in _LOADERS:
        found = sys.modules.get(module)
        if found is not None and module not in _seen and hasattr(found, alone) and hasattr(found, many):
            _seen.add(module)
            one, several = getattr(found, alone), getattr(found, many)
            one.__init__ = _wrap_single_init(find_init(one))
            several.__init__ = _wrap_multi_init(find_init(several), home)
            _unpatch_all()
    if "torchdata.nodes.map" in sys.modules and "torchdata.nodes.map" not in _seen:
        _seen.add("torchdata.nodes.map")
        nodes.install(sys.modules[__name__])
    if not _steps:
        for fetcher in (loading.fetch._MapDatasetFetcher, loading.fetch._IterableDatasetFetcher):
            _patch(fetcher, "fetch", _wrap_fetch)
        _patch(torch._utils.ExceptionWrapper, "__init__", wrap_exception)
        for module, _, many, _ in _LOADERS:
            if module in _seen:
                _patch(getattr(sys.modules[module], many), "_reset", _wrap_reset)
                _patch(getattr(sys.modules[module], many), "_next_data", _wrap_next_data)


def find_init(kind: type) -> Any:
    """Return __init__ of an iterator class; the start-up hook's wrapper is removed from it."""
    hook = sys.modules.get("_stoker_feed_hook")
    return kind.__init__ if hook is None else hook.take(kind)


def _patch(owner: type, name: str, wrap: Callable[[Any], Any]) -> None:
    before = vars(owner)[name]
    setattr(owner, name, wrap(before))
    _steps.append((owner, name, before, vars(owner)[name]))


def _unpatch_all() -> None:
    """Undo the patches of the calls made for each batch."""
    for owner, name, before, ours in reversed(_steps):
        if vars(owner).get(name) is ours:  # else another library has wrapped our patch
            setattr(owner, name, before)
    _steps.clear()


def _stop_if_useless() -> None:
    """Remove our patches from a worker whose data set is not deferred; in the trainer, once none
    is."""
    if not in_worker() and not payoff.are_all_hopeless():
        return
    if materializer.line is not None and not materializer.line.is_inherited():
        materializer.line.close()
    _unpatch_all()
    pictures.uninstall()


def in_worker() -> bool:
    return _worker is not None or loading.worker.get_worker_info() is not None


def _reset_after_fork() -> None:
    """Replace the locks in a forked child: a thread of the parent may have held them."""
    global _starting, _preparing
    _starting, _preparing = threading.RLock(), threading.RLock()


os.register_at_fork(after_in_child=_reset_after_fork)


def wants_deferring() -> bool:
    wanted = _everywhere or getattr(_wanted, "now", False) and pictures.is_pillow_imported()
    return wanted and Recording.now is None


def _wrap_single_init(original: Callable[..., None]) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: torch.utils.data.DataLoader[Any], *rest: Any, **more: Any) -> None:
        original(self, loader, *rest, **more)
        if not wants_deferring() or in_worker():
            return
        account = _find_account(loader)
        if not account.is_hopeless():
            begin_in_process()
            self._dataset_fetcher._stoker = account

    return __init__


def _find_account(loader: torch.utils.data.DataLoader[Any]) -> payoff.Account:
    """Return the account of a loader's data set. Its code is searched again for a witness."""
    account = payoff.find_account(loader.dataset, loader)
    if not account.is_hopeless():  # the search may take longer than a short epoch
        account.witness = reach.find_witness(loader.dataset, loader.collate_fn, loader.worker_init_fn)
    return account


def begin_in_process() -> None:
    """Begin an iteration that loads in this process, without workers."""
    _install()
    _deaths.iteration()
    if pictures.is_pillow_imported():  # else the line is made at the first fetch after the import
        with _starting:
            _ensure_line()


def _wrap_multi_init(original: Callable[..., None], home: str) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, loader: torch.utils.data.DataLoader[Any], *rest: Any, **more: Any) -> None:
        if home == _WORKERS and wants_deferring() and not in_worker():
            with in_cluster(loader) as begin_in_cluster:
                if begin_in_cluster is not None:
                    original(self, loader, *rest, **more)
                    begin_in_cluster(self)
                    return
        elif home == _STATEFUL and not in_worker():
            say_why_here("a StatefulDataLoader asks its workers for their state, which dies with a node")
        account = _find_account(loader) if wants_deferring() else None
        where, count = sys.modules[home], loader.num_workers
        messages = None if account is None or in_worker() else account.messages
        with supplying_workers(account, count, patience(loader.timeout), where, "_worker_loop") as supply:
            with handing_over(where, "_worker_loop", count, messages) as takers:
                original(self, loader, *rest, **more)
                takers.append(self)
            if supply is not None:
                self._stoker_supply = supply

    return __init__


@contextlib.contextmanager
def supplying_workers(
    account: payoff.Account | None, count: int, seconds: float, home: ModuleType, name: str
) -> Iterator[_Supply | None]:
    """Give a connection to each worker that is started within this context by the loop home.name.

    Yields None, and changes nothing, if deferring the data set is not worthwhile.
    """
    if account is None or account.is_hopeless():
        if account is not None and _steps:
            _stop_if_useless()
        yield None
        return
    _install()
    with _starting:
        supply = _make_supply(count)
        if supply is None:
            yield None
            return
        if account.read_totals()[payoff.DEFERRED]:
            _prepare_fork()
        before = getattr(home, name)
        setattr(home, name, _Loop(supply.theirs, seconds, before, home=(home.__name__, name), slot=account.number, witness=account.witness))
        try:
            yield supply
        finally:
            setattr(home, name, before)
            for end in supply.theirs:
                end.close()


def _wrap_reset(original: Callable[..., None]) -> Any:
    @functools.wraps(original)
    def _reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "_stoker_supply" in vars(self):  # persistent workers: another iteration begins
            _deaths.iteration()
            self._stoker_supply.serve()
        return original(self, *args, **kwargs)

    return _reset


def _wrap_next_data(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def _next_data(self: Any) -> Any:
        if "_stoker_supply" in vars(self):
            self._stoker_supply.serve()
        return original(self)

    return _next_data


def _make_supply(count: int) -> _Supply | None:
    """Return the connections for this many workers, or None if they cannot be deferred."""
    _deaths.iteration()
    if lack := _limits.find_lack(count):
        say_once(f"pictures are made by the workers, as without stoker: {lack}")
        return None
    try:
        supply = _Supply(count)
    except OSError as error:  # no descriptor is left
        say(f"pictures are made by the workers, as without stoker: {error}")
        return None
    supply.serve()
    return None if _lost else supply


class _Supply:
    """The trainer's end: sends each worker of an iterator a connection, and another after a loss."""

    def __init__(self, count: int) -> None:
        pairs = [pair() for _ in range(count)]
        self.theirs = [theirs for _, theirs in pairs]
        self._ours = [Connection(ours) for ours, _ in pairs]  # as Connections, which a forked child closes
        self._numbers = {ours.fileno(): number for number, (ours, _) in enumerate(pairs)}
        self._poll = select.poll()
        for ours, _ in pairs:
            self._poll.register(ours, select.POLLIN)
        # else workers that import Pillow ask
        self._asking = set(range(count)) if pictures.is_pillow_imported() else set()

    def serve(self) -> None:
        """Answer the workers that have asked for a connection. If none has, this is one system
        call."""
        if self._ours[0].is_inherited():
            return
        try:
            for descriptor, _ in self._poll.poll(0):
                self._read_word(descriptor)
            if self._asking:
                self._answer()
        except Exception as error:  # workers without a connection decode with Pillow
            self._asking.clear()
            say(f"pictures are made by the workers, as without stoker: {error}")

    def _read_word(self, descriptor: int) -> None:
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
        for number, end in zip(numbers, _open_connections(len(numbers))):
            with end, contextlib.suppress(Gone):
                self._asking.discard(number)
                self._ours[number].hand(b"%d" % _generation, end.fileno())


class _WorkerConnections:
    """The worker's end of a _Supply."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._generation = b""
        self._asked = False

    def take_connection(self) -> socket.socket | None:
        found = None
        with contextlib.suppress(OSError):  # no message yet, or the trainer is gone
            while True:
                word, rights, _, _ = self._end.recvmsg(64, socket.CMSG_SPACE(4), NOW)
                if not word:
                    break
                self._generation = word
                found = Socket(fileno=int.from_bytes(rights[0][2], sys.byteorder)) if rights else None
        if not self._generation and not self._asked:  # the trainer expected no pictures and sent none
            self._asked = True
            self.report_loss(False)
        return found

    def report_loss(self, hung: bool) -> None:
        with contextlib.suppress(OSError):
            self._end.send(
                (b"hung " if hung else b"dead ") + self._generation, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
            )


class _OwnConnections:
    """Connections of a process that loads without workers."""

    def __init__(self, job: str | None) -> None:
        self._job = job

    def take_connection(self) -> socket.socket | None:
        return next(iter(_open_connections(1, self._job)), None)

    def report_loss(self, hung: bool) -> None:
        if hung and _daemon is not None:
            _daemon.give_up()


class _Loop:
    """Replaces the loop of a worker: connects to the trainer's daemon, then runs
    that loop."""

    def __init__(
        self,
        ends: list[socket.socket],
        patience: float,
        loop: Callable[..., None],
        forked: bool = True,
        home: tuple[str, str] = (_WORKERS, "_worker_loop"),
        slot: int | None = None,
        witness: str = "",
    ) -> None:
        self._ends, self._patience, self._loop, self._is_forked = ends, patience, loop, forked
        self._home, self._slot, self._witness = home, slot, witness
        self.__wrapped__ = loop  # inspect.signature follows it

    def __reduce__(self) -> Any:  # for a worker that is not forked
        ends = [reduction.DupFd(end.fileno()) for end in self._ends]
        share = reduction.DupFd(_share.file()) if _share.file() >= 0 else None
        left = set(pictures.untrusted) if _checked else None
        return _make_loop, (ends, self._patience, share, left, self._home, self._slot, self._witness, _everywhere)

    def __call__(self, *args: Any) -> None:
        global _worker, _number
        leave_to_trainer()
        _name_trainer()
        if self._is_orphan():
            return
        given = inspect.signature(self._loop).bind(*args)
        _number, _worker = given.arguments.get("worker_id"), payoff.Account(self._slot)
        _worker.witness = self._witness
        materializer.line = None  # it was the trainer's
        for number, end in enumerate(self._ends):
            if number == _number and not _limits.find_lack():
                materializer.line = Line(_WorkerConnections(end), self._patience)
            else:
                end.close()
        _install()
        if "udf" in given.arguments:  # a worker of torchdata.nodes
            given.arguments["udf"] = nodes.Mapped(sys.modules[__name__], given.arguments["udf"], _worker)
        self._loop(*given.args, **given.kwargs)

    def _is_orphan(self) -> bool:
        """Whether the trainer ended before its worker began. PyTorch notices only a later end and
        would wait forever."""
        trainer = multiprocessing.parent_process()
        if trainer is None:
            return False
        return os.getppid() != trainer.pid if self._is_forked else not trainer.is_alive()


def _name_trainer() -> None:
    """Tell PyTorch's watchdog who the trainer is. It asks for its parent when the loop begins, and would
    watch init forever if the trainer had ended just before."""
    trainer, kind = multiprocessing.parent_process(), getattr(loading.worker, "ManagerWatchdog", None)
    if trainer is None or kind is None or os.getppid() != trainer.pid:
        return

    class Watchdog(kind):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.manager_pid = trainer.pid

    loading.worker.ManagerWatchdog = Watchdog  # type: ignore[misc]


def _make_loop(
    ends: list[Any],
    patience: float,
    share: reduction.DupFd | None,
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
        _share.use_page(share.detach())
    loop = getattr(importlib.import_module(home[0]), home[1])
    return _Loop([Socket(fileno=end.detach()) for end in ends], patience, loop, False, home, slot, witness)


def _wrap_fetch(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def fetch(self: Any, index: object) -> Any:
        account = vars(self).get("_stoker")
        if account is None and loading.worker.get_worker_info() is not None:
            account = self._stoker = _worker
            if account is None and _steps:  # the trainer defers nothing of this data set
                _stop_if_useless()
        if account is None or Recording.now is not None:  # a data set may itself iterate a loader
            return original(self, index)
        return run_fetch(self, account, lambda: _fetch_gathering(self, original, index), len(index) if isinstance(index, list) else 1)

    return fetch


def _fetch_gathering(fetcher: loading.fetch._BaseDatasetFetcher, original: Callable[..., Any], index: object) -> Any:
    """Run a fetch; if pictures may be deferred, note when its collate function is called."""
    if Recording.now is None:
        return original(fetcher, index)
    collate, fetcher.collate_fn = fetcher.collate_fn, stream.Gathering(fetcher.collate_fn)
    try:
        return original(fetcher, index)
    finally:
        fetcher.collate_fn = collate


def run_fetch(by: object, account: payoff.Account, fetch: Callable[[], Any], samples: int) -> Any:
    """Run a fetch with its pictures deferred.

    by is the object that fetches, one batch after the other; it keeps our state between fetches.
    """
    if account.is_hopeless():
        if _steps:
            _stop_if_useless()
        return fetch()
    if _to_verify <= 0 and materializer.line is not None and materializer.line.is_alive() and account.wants_plain():
        return _measure_cost(fetch, account, False, samples)
    with _share.counting():
        return _try_deferring(vars(by), account, fetch, samples)


def _try_deferring(own: dict[str, Any], account: payoff.Account, fetch: Callable[[], Any], samples: int) -> Any:
    tally = own.get("_stoker_tally")
    if tally is None:
        tally = own["_stoker_tally"] = Tally(account)
    if not pictures.is_pillow_imported():
        batch = fetch()
        if not pictures.is_pillow_imported():
            _count_fetch(tally, False)
        return batch
    if not in_worker() and not own.get("_stoker_begun"):  # a worker is connected by the trainer
        own["_stoker_begun"] = True
        with _starting:
            _ensure_line()
    if not _make_ready() or _is_memory_scarce():
        return fetch()
    recording = Recording(tally, tensors=not account.witness)
    if account.witness:
        _share.keep_reason(_share.PILLOW, f"tensors are made at once because of {account.witness}")
    recording.stream = "dataset_iter" in own
    if _to_verify > 0:
        return _run_verified(fetch, recording)
    # the first deferred fetch also pays for the patches, so it is not measured
    first = not own.setdefault("_stoker_warm", False)
    own["_stoker_warm"] = True
    return _run_deferred(fetch, recording) if first else _measure_cost(lambda: _run_deferred(fetch, recording), account, True, samples)


def _measure_cost(fetch: Callable[[], Any], account: payoff.Account, deferred: bool, samples: int) -> Any:
    """Run a fetch. Its processor time, and the daemon's for it, are added to the account."""
    assert materializer.line is not None
    clock = time.process_time_ns if in_worker() else time.thread_time_ns  # the trainer's other threads compute as well
    begin, before = clock(), materializer.line.spent
    batch = fetch()
    account.count_cost(deferred, samples, clock() - begin + materializer.line.spent - before)
    return batch


_SHARED = "/dev/shm"  # PyTorch sends tensors through it; our memory is elsewhere
_LEAST_SHARED_MEMORY = 1 << 20  # bytes [J]: with less, even labels may not fit


def _is_memory_scarce() -> bool:
    """Whether descriptors or shared memory run out.

    A worker that then sends a batch would fail silently, in a thread of PyTorch. The script without
    Stoker fails earlier, when it decodes pictures.
    """
    if _limits.are_descriptors_scarce():
        return True
    if not in_worker():
        return False
    try:
        there = os.statvfs(_SHARED)
    except OSError:
        return True
    return there.f_bavail * there.f_frsize < _LEAST_SHARED_MEMORY


_NOTHING = (
    "no picture of the first batches can wait: they are made as without stoker (JPEGs that Pillow or torchvision.io "
    "opens and that become tensors are fed; pictures in a batch, other files, NumPy arrays, OpenCV, video, audio and "
    "text are left to their libraries)"
)


def _count_fetch(tally: Tally, deferred: bool) -> None:
    """Add a fetch to the account that all processes share."""
    opened, tally.reported = tally.opened - tally.reported, tally.opened
    if tally.account is not None and tally.account.count_fetch(deferred, opened) and _everywhere:
        say(_NOTHING)


def _run_deferred(fetch: Callable[[], Any], recording: Recording) -> Any:
    """Run a fetch with its pictures deferred, then have the daemon compute them. The script's code
    runs once."""
    line, Recording.now = materializer.line, recording
    before = 0 if line is None else line.spent
    try:
        try:
            with replacements.replacing():
                batch = fetch()
            if recording.stream and recording.is_used:
                stream.decode_pictures(batch)
        except BaseException:
            materializer.abandon(recording)
            raise
        materializer.finish(recording, batch)
    finally:
        Recording.now = None
        # Pictures that are left in the batch were recorded, but Pillow has made them.
        _count_fetch(recording.tally, line is not None and line.spent > before)
    return batch


_to_verify = int(os.environ.get("STOKER_FEED_VERIFY") or 0)  # batches whose pictures Pillow decodes as well


def _run_verified(fetch: Callable[[], Any], recording: Recording) -> Any:
    """Run a deferred fetch and let Pillow decode each picture as well. If one differs, the batch
    gets Pillow's."""
    global _to_verify
    _to_verify -= 1
    materializer.differing = differing = []
    try:
        batch = _run_deferred(fetch, recording)
    finally:
        materializer.differing = None
    if differing:
        _to_verify = 0
        assert materializer.line is not None
        materializer.line.close()
        _say(f"verify: a picture differs from Pillow's ({differing[0]:.300}): from here on this process is not fed")
    elif not _to_verify:
        _say("verify: every picture of the first batches equals Pillow's, bit by bit")
    return batch


def _say(sentence: str) -> None:
    """Print a line on stderr: of several workers only the first prints it, but each reports a
    difference."""
    if not _number or "not fed" in sentence:
        say(sentence)


_reported_needs: set[str] = set()


def _report_need(what: str) -> None:
    """Say once which line of the program needs pixels at once."""
    where = _find_asking_line()
    _share.keep_reason(_share.PILLOW if what == pictures.PIXELS else _share.PART, f"{where} asks for {what}")
    if where not in _reported_needs and len(_reported_needs) < 3:
        _reported_needs.add(where)
        _say(f"{where} asks for {what}, which is made there and then")


def _find_asking_line() -> str:
    """Return the program's line that runs now, and the library function that it called.

    If the data set belongs to a library as well, this is the library's line.
    """
    frame: Any = sys._getframe(1)
    line, by, own = "a library", "", ""
    while frame is not None and frame.f_code is not _run_deferred.__code__:  # the caller of the fetch is blocked
        at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if not _is_library(frame):
            return at + by
        name = frame.f_globals.get("__name__", "")
        package = name.partition(".")[0]
        if not by and package != _OURS:
            line, by, own = at, f" ({name}.{frame.f_code.co_name})", package
        elif by and own and package not in (own, _OURS, "torch"):  # the library that called it
            line, own = at, ""
        frame = frame.f_back
    return line.rpartition(_INSTALLED)[2] + by


def _is_library(frame: FrameType) -> bool:
    """Whether a frame runs installed code, Python's own or ours."""
    file = frame.f_code.co_filename
    known = frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES
    return known or _INSTALLED in file or file.startswith((_STANDARD, "<frozen "))


_OURS = __name__.partition(".")[0]
_LIBRARIES = {_OURS, "PIL", "torch", "torchvision", "numpy"}  # even if they run from a checkout
_INSTALLED = f"{os.sep}site-packages{os.sep}"
_STANDARD = os.path.dirname(os.__file__) + os.sep
Recording.report_need, Recording.find_asking = staticmethod(_report_need), staticmethod(_find_asking_line)


def _make_ready() -> bool:
    """Prepare this process for deferring; False if it cannot defer.

    Libraries are patched as soon as the program has imported them.
    """
    if not pictures.is_pillow_imported() or materializer.line is None or not materializer.line.try_connect():
        return False
    with _preparing:
        if not _ensure_trials(materializer.line) or not pictures.install():
            return False
        _try_further(materializer.line)
        _install_patches()
    return True


def _install_patches() -> None:
    """Patch the libraries in this process, besides Pillow's methods."""
    with replacements.replacing():  # some check whether others are replaced
        canvas.install()
        draws.install(in_worker())
        tensors.install(sys.modules)
        compose.install(in_worker())
        opening.install(in_worker())
        further.install()


def _prepare_fork() -> None:
    """Install the patches before workers are forked: else each worker would, in each epoch."""
    if _checked and pictures.is_pillow_imported() and multiprocessing.get_all_start_methods()[0] == "fork":
        with _preparing:
            if pictures.install():
                _install_patches()


def _open_connections(count: int, job: str | None = None) -> list[socket.socket]:
    """Return this many connections to the daemon of the job's processes on this node.

    Returns none if there is no daemon; the reason is said once.
    """
    global _lost
    if _lost:
        return []
    if why := _find_obstacle():
        _lost = True
        say(f"pictures are made by the workers, as without stoker: {why}")
        return []
    for _ in range(2):  # twice: the daemon may have just ended
        if not _ensure_daemon(job):
            break
        assert _daemon is not None
        try:
            # here once, and not in each worker
            if pictures.is_pillow_imported() and (not _checked or further.has_untried()):
                with _open_line(_daemon) as line:
                    if not _ensure_trials(line) and _lost:
                        return []
                    _try_further(line)
            return [_daemon.connect(Wait(math.inf, say)).detach() for _ in range(count)]
        except (StokerError, OSError) as error:
            say_once(f"pictures are made by Pillow for now: {error}")
    return []


def _ensure_daemon(job: str | None) -> bool:
    """Start the daemon if none runs or the last one has died. Returns whether there is one."""
    global _daemon, _generation, _tried
    if _daemon is not None and not _daemon.has_ended():
        return True
    why = "" if _daemon is None else f"stoker feed has ended{_daemon.last_words()}"
    if _tried and not _deaths.bear(True):
        say_once(f"{why or 'there is no daemon'}: pictures are made by Pillow for now")
        return False
    _tried = True
    place = here()
    job = job or place.job()
    try:
        _daemon = daemon_of(
            None if job is None else meeting_place(job + "-pictures", say_once), place.local_world, Wait(math.inf, say), False
        )
    except (StokerError, OSError) as error:
        say_once(f"pictures are made by Pillow for now: {error}")
        return False
    _generation += 1
    if why:
        say(f"{why}: another daemon makes the pictures from here on, Pillow made those that were under way")
    return True


@contextlib.contextmanager
def _open_line(daemon: Daemon) -> Iterator[Line]:
    """Open a line to the daemon for the duration of this context."""
    line = Line(_OneConnection(daemon.connect(Wait(math.inf, say)).detach()), patience())
    line.try_connect()
    try:
        yield line
    finally:
        line.close()


class _OneConnection:
    """A source of connections with exactly one."""

    def __init__(self, end: socket.socket) -> None:
        self._end: socket.socket | None = end

    def take_connection(self) -> socket.socket | None:
        end, self._end = self._end, None
        return end

    def report_loss(self, hung: bool) -> None:
        pass


def _ensure_trials(line: Line) -> bool:
    """Run the trials if they have not run yet. Returns whether the daemon may compute anything
    here."""
    global _checked, _lost
    if _checked:
        return True
    if _lost:
        return False
    try:
        left = trust.check(line)
    except trust.Unfit as why:
        _lost = True
        say_once(f"pictures are made by the workers, as without stoker: {why}")
        return False
    except Gone as why:
        say_once(f"pictures are made by Pillow for now: {why}")
        return False
    except Exception as why:  # our own fault must not end a training
        _lost = True
        say_once(f"pictures are made by the workers, as without stoker: its trials ended with {why!r}")
        return False
    trust.trust(left)
    _checked = True
    if left:
        say_once(trust.describe_untrusted(left))
    return True


def _try_further(line: Line) -> None:
    """Run the trials of libraries that were imported since the last ones."""
    if _checked and further.has_untried():
        for sentence in further.check(line):
            say_once(sentence)


def fetch_outside_loader(fetch: Callable[[], Any], job: str | None) -> Any:
    """Run fetch, which is no loader's, with its pictures deferred.

    The job's processes on this node share a daemon.
    """
    if Recording.now is None and _ensure_line(job) and _make_ready():
        return _run_deferred(fetch, Recording(Tally()))
    return fetch()


def _ensure_line(job: str | None = None) -> bool:
    """Make a line of this process if it has none. Returns whether it is connected."""
    # An earlier iterator may have closed it.
    if materializer.line is None or materializer.line.is_inherited() or materializer.line.is_closed():
        if lack := _limits.find_lack():
            say_once(f"pictures are made as without stoker: {lack}")
            return False
        materializer.line = Line(_OwnConnections(job), patience())
    return materializer.line.try_connect()


def _find_obstacle() -> str:
    """Return why no picture can be deferred here, or an empty string."""
    if not hasattr(torch.utils, "swap_tensors"):
        return f"it needs PyTorch 2.3 or newer, not {torch.__version__}"
    return "" if importlib.util.find_spec("PIL") else "there is no Pillow"
