"""The trainer's end of Ray's driver, a process beside it. One serves all loaders, and another one follows if Ray ends it."""

from __future__ import annotations

import array
import concurrent.futures
import contextlib
import dataclasses
import itertools
import mmap
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from .._warning import say, say_once
from ..daemon.sockets import pair
from ..handover.lease import lease
from ..handover.lending import HEAD, POPULATE
from . import here
from .calls import BATCH, Child, Ended, Failed
from .cluster import LOCAL, SPARE_CALLS, Away, Died, Lack, Lost, Refused
from .packing import DatasetPickler

HERE = "this machine"
_MAIN = "import sys; from stoker.remote import driver; driver.serve(*map(int, sys.argv[1:]))"
_RETURNS = 60.0  # seconds [J] in which a Ray that went away may come back, as when its node's program starts anew
_REFUSED = 15.0  # of these [J] if its head has ended: nodes without one gave up a minute after that
_PAUSE = 1.0  # between two tries
_CONNECTS = 90.0  # seconds [J] for a Python that imports Ray and finds its node
_STARTS = 10  # times [J] that a worker's replacement is started, if its node dies meanwhile
_NAMED = 4  # nodes in a line
_AGAIN = 20  # times [J] as long as a wait in vain no loader waits again: 5 % of the program's time
_PATIENT = "RAY_gcs_rpc_server_reconnect_timeout_s"  # Ray ends a driver so many seconds after the head, 60 by default
_HASH_SEEDS = 1 << 32
#: Variables that Python and libraries read when they start.
_AT_START = ("LANG", "LC_", "TZ", "PYTHONUTF8", "PYTHONIOENCODING", "ATEN_CPU_CAPABILITY", "MKL_", "DNNL_", "ONEDNN_", "OPENBLAS_CORETYPE", "OPENCV_")
_FOR_EVER = "1000000"  # seconds, which are milliseconds of 32 bits


class Shared:
    """What all workers of a loader get, pickled: in memory of its own, which the driver maps."""

    def __init__(self, what: object) -> None:
        self.key, self.descriptor = next(_keys), os.memfd_create("stoker-dataset", os.MFD_CLOEXEC)
        with open(self.descriptor, "wb", closefd=False) as file:
            DatasetPickler(file).dump(what)
        self.size = os.fstat(self.descriptor).st_size

    def read(self) -> bytes:
        return os.pread(self.descriptor, self.size, 0)

    def is_kept(self) -> bool:
        return self.descriptor >= 0

    def drop(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):  # no descriptor was left
            self.drop()


_keys = itertools.count()
_LACKS = {kind.__name__: kind for kind in (Lack, Away, Lost, Died, Refused)}


class Driver(Child):
    """The process that is Ray's driver."""

    END = "Ray's driver beside this program ended"

    def __init__(self, address: str) -> None:
        self._rights, theirs = pair()
        self._maps: dict[int, mmap.mmap] = {}
        self._shared: set[int] = set()
        patience = {} if address == LOCAL or _PATIENT in os.environ else {_PATIENT: _FOR_EVER}
        with theirs:
            super().__init__(_MAIN, {**make_environment(), **patience}, subprocess.DEVNULL, theirs)

    def start(self, count: int, address: str, ahead: int, within: float = _CONNECTS) -> tuple[list[Actor], int | None]:
        """Return so many actors, and the bytes of Ray's object store here. Raises Lack; within: seconds in which Ray answers."""
        try:
            self.call("connect", address).result(within)
            found, store = self.call("start", count, address, ahead, make_environment()).result()
        except Ended:
            raise Lost("its driver ended") from None
        except Failed as error:
            kind = _LACKS.get(error.kind)
            if kind is Lost:
                self.kill()
            raise kind(error.text) if kind else Lack(str(error)) from None
        except concurrent.futures.TimeoutError:
            self.kill()
            raise Lost(f"Ray at {address} does not answer within {within:.0f} s") from None
        return [Actor(Handle(self, number), node, room) for number, node, room in found], store

    def share(self, shared: Shared) -> None:
        """Have the cluster keep a data set."""
        if shared.key not in self._shared:
            self._shared.add(shared.key)
            weakref.finalize(shared, self.call, "forget", shared.key).atexit = False
            rights = array.array("i", [shared.descriptor])
            with contextlib.suppress(OSError):  # it has ended, which the call tells
                self._rights.sendmsg([HEAD.pack(shared.key)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            self.call("share", shared.key).result()

    def take(self, result: Any) -> Any:
        """Map the room of a batch."""
        if not (isinstance(result, tuple) and len(result) > BATCH and isinstance(result[BATCH], tuple)):
            return result
        number, size, used, kept = result[BATCH]
        _, rights, _, _ = self._rights.recvmsg(HEAD.size, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        loan = array.array("i", rights[0][2])[0]
        if number not in self._maps:
            again = os.open(f"/proc/self/fd/{loan}", os.O_RDWR | os.O_CLOEXEC)  # a mapping of the loan would keep the room
            self._maps[number] = mmap.mmap(again, size, POPULATE)
            os.close(again)
        if kept is not None:
            self._maps = {each: memory for each, memory in self._maps.items() if each in kept or each == number}
        blob = np.frombuffer(lease(self._maps[number], loan), np.uint8, used)
        return (*result[:BATCH], blob, *result[BATCH + 1 :])

    def hear(self, word: Any) -> None:
        say_once(word)

    def leave(self) -> None:
        super().leave()
        self._rights.close()


class Handle:
    """An actor."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver, self.number = driver, number

    def call(self, name: str, *arguments: Any) -> Future[Any]:
        return self.driver.call(name, self.number, *arguments)

    def begin(self, shared: Shared, own: bytes, first: int) -> Future[Any]:
        with contextlib.suppress(Failed):  # the next call fails as well
            self.driver.share(shared)
        return self.call("begin", shared.key, own, first)

    def has_ended(self) -> bool:
        return self.driver.has_ended()

    def kill(self) -> None:
        self.call("kill")


@dataclasses.dataclass(frozen=True)
class Actor:
    """One that has started."""

    handle: Handle | here.Handle
    node: str  # its name
    store: int | None  # bytes of Ray's object store there


_drivers: dict[str, Driver] = {}  # by address: a program may turn to another cluster
_finding = threading.Lock()
_missed = float("-inf")  # when Ray did not come back
_vain: dict[tuple[str, int], tuple[float, str]] = {}  # by address and count of actors: when to ask again, and why not now


def _forget() -> None:
    global _finding
    _finding = threading.Lock()
    _drivers.clear()


os.register_at_fork(after_in_child=_forget)


def _find_driver(address: str) -> Driver:
    with _finding:
        if address not in _drivers or _drivers[address].has_ended():
            _drivers[address] = Driver(address)
        return _drivers[address]


def start_actors(count: int, address: str, ahead: int) -> tuple[list[Actor], int | None]:
    """Return so many actors that take so many questions ahead, and the bytes of Ray's object store here. Raises Lack."""
    global _missed
    begun = time.monotonic()
    until, why = _vain.get((address, count), (begun, ""))
    if begun < until:
        raise Lack(why)
    try:
        found = _find_driver(address).start(count, address, ahead)
    except Lack as lack:
        now = time.monotonic()
        _vain[address, count] = now + _AGAIN * (now - begun), str(lack)
        raise
    _missed = float("-inf")
    return found


def start_others(count: int, address: str, ahead: int, is_over: Callable[[], bool]) -> list[Actor]:
    """Return actors for such that died; processes of this machine if the cluster gives none."""
    global _missed
    begun, left = time.monotonic(), _RETURNS
    died, said = 0, False
    why: Lack = Away("it did not come back")
    while time.monotonic() >= _missed + _RETURNS:
        try:
            return _find_driver(address).start(count, address, ahead, min(left, _CONNECTS))[0]
        except Died as lack:
            why, died = lack, died + 1
            if died == _STARTS or is_over():
                break
        except Away as lack:
            patience = _REFUSED if isinstance(lack, Refused) else _RETURNS
            why, left = lack, begun + patience - time.monotonic() - _PAUSE
            if left <= 0 or is_over():
                _missed = time.monotonic()
                break
            if not said:
                said = True
                say(f"Ray went away ({_first_line(lack)}): the program waits up to {patience:.0f} s for it")
            time.sleep(_PAUSE)
        except Lack as lack:
            why = lack
            break
    say_once(f"the cluster gives no worker in place of one that died ({_first_line(why)}): it runs on this machine")
    return [start_here(ahead) for _ in range(count)]


def start_here(ahead: int) -> Actor:
    """Return a process of this machine in an actor's place."""
    return Actor(here.Handle(ahead + SPARE_CALLS, make_environment()), HERE, None)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def say_what_is_missing(actors: list[Actor], paths: list[str]) -> None:
    """Say which of the trainer's paths a node does not have, before a fetch fails there."""
    one = {actor.node: actor.handle for actor in actors if isinstance(actor.handle, Handle)}
    if not (paths and one):
        return
    driver = next(iter(one.values())).driver
    with contextlib.suppress(Failed):  # its death is found later
        for node, missing in zip(one, driver.call("find_missing", [handle.number for handle in one.values()], paths).result()):
            if missing:
                more = f" and {len(missing) - 1} more" if missing[1:] else ""
                say_once(f"node {node} has no {missing[0]}{more}, which the data set names: fetches that read it will fail")


def make_environment() -> dict[str, str]:
    """Return variables by which a worker finds the program's modules and this package at the trainer's paths."""
    client = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [os.path.abspath(path) for path in sys.path if not path.endswith(".zip")]
    kept = {name: value for name, value in os.environ.items() if name.startswith(_AT_START)}
    return {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys([client, *paths])), "PYTHONHASHSEED": _HASH_SEED}


def _read_hash_seed() -> str:
    """Return the seed of this process's hashes, which order sets of strings. If only it knows that, workers share another one."""
    with contextlib.suppress(OSError), open("/proc/self/environ", "rb") as file:  # os.environ may have changed since
        for word in file.read().split(b"\0"):
            name, _, value = word.partition(b"=")
            if name == b"PYTHONHASHSEED" and value.isdigit() and not sys.flags.ignore_environment:
                return value.decode()
    return str(secrets.randbelow(_HASH_SEEDS))


_HASH_SEED = _read_hash_seed()


def say_where(nodes: list[str]) -> str:
    """Return a line about where workers run."""
    names = sorted(set(nodes))
    more = f" and {len(names) - _NAMED} nodes more" if len(names) > _NAMED else ""
    some = "1 worker runs" if len(nodes) == 1 else f"{len(nodes)} workers run"
    return f"{some} in the Ray cluster, on {', '.join(names[:_NAMED])}{more}"
