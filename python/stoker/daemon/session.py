"""The client's end of feed/serve/PROTOCOL.md: daemon, connections, sessions."""

from __future__ import annotations

import array
import atexit
import collections
import contextlib
import errno
import json
import math
import os
import select
import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .._verbs import StokerError, find_binary
from .._warning import warn
from .deaths import Silence, patience
from .private import Shared, lock, node, peer, reach
from .private import place as private_place
from .ring import Fence, Loans, Ring
from .sockets import Socket, pair

if TYPE_CHECKING:
    import numpy as np

PROTOCOL = 1
MAX_PACKET = 64 << 10

NOW = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL | socket.MSG_CMSG_CLOEXEC
RIGHTS = socket.CMSG_SPACE(8)  # for two descriptors
_decode = json.JSONDecoder().raw_decode  # json.loads would first detect the encoding

# Seconds. A silent daemon need not be dead: the machine may be busy or suspended. A wait ends when
# the daemon's process ends, which closes the connection; after a silence of deaths.patience(); or
# at the deadline that the user gave.
QUIET = 1.0  # without a packet, before the daemon is pinged
SILENT = 2.0  # without an answer to the ping, before the user gets a message, once
LONG = 60.0  # for one batch, before the user gets a message
ENDING = 2.0  # for a daemon to end when no rank needs it


class Gone(StokerError):
    """The daemon has ended."""


class Hung(Gone):
    """The daemon's process lives but does not answer; it is given up."""

    def __init__(self, silence: float, awaited: str) -> None:
        super().__init__(
            f"stoker feed gave no sign of life for {silence:.0f} s ({awaited}) and is given up "
            f"(STOKER_FEED_PATIENCE sets these seconds)"
        )


class Unable(Gone):
    """The daemon cannot compute the batches, because of an outage or its own fault."""


class Unread(Gone):
    """The daemon does not read a picture that Pillow may read."""


class Connection:
    """A socket that carries packets: JSON objects, some with descriptors."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._buffer = bytearray(MAX_PACKET + 1)
        self._pid = os.getpid()
        _connections.add(self)

    def send(self, packet: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        """Send a packet. Blocks while the daemon reads too slowly."""
        self._check()
        data = json.dumps(packet, separators=(",", ":")).encode()
        silence, most = Silence(), patience()
        while not self._try(data, descriptors):
            _poll(self._socket, select.POLLOUT, 0.1)
            if silence.grow() >= most:
                raise Hung(most, "it takes no packets")

    def send_now(self, data: bytes) -> bool:
        """Send without blocking. Returns False if the socket is full.

        It is a single system call, so any thread may do it, even during another send.
        """
        if self.is_inherited():
            return True
        try:
            return self._try(data, ())
        except Gone:
            return True  # the next read raises it

    def _try(self, data: bytes, descriptors: tuple[int, ...]) -> bool:
        try:
            if descriptors:
                self._socket.sendmsg(
                    [data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))], NOW
                )
            else:
                self._socket.send(data, NOW)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Gone(f"stoker feed takes no packets any more: {error}") from error
        return True

    def receive(self, wait: float, room: int = 0) -> tuple[dict[str, Any], list[int]] | None:
        """Receive a packet and its descriptors, for which room bytes are reserved. None: nothing
        came in time."""
        self._check()
        rights: list[tuple[int, int, bytes]] = []
        try:
            if room:
                size, rights, _, _ = self._socket.recvmsg_into([self._buffer], room, NOW)
            else:
                size = self._socket.recv_into(self._buffer, 0, NOW)
        except BlockingIOError:
            if wait > 0 and _poll(self._socket, select.POLLIN, wait):
                return self.receive(0, room)
            return None
        except ConnectionError:
            size = 0
        except OSError as error:
            raise Gone(f"the connection to stoker feed broke: {error}") from error
        if size == 0:
            raise Gone("stoker feed has ended")
        if size > MAX_PACKET:  # the buffer is one byte longer, to notice longer packets
            raise StokerError(
                f"stoker feed sent a packet of more than {MAX_PACKET} bytes: client and binary are of "
                f"different versions"
            )
        descriptors = [
            number
            for level, kind, data in rights
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
            for number in array.array("i", data)
        ]
        try:
            return _decode(str(self._buffer[:size], "utf-8"))[0], descriptors
        except ValueError as error:
            raise Gone(f"stoker feed sent an invalid packet: {error}") from error

    def _check(self) -> None:
        if self.is_inherited():
            raise StokerError("this loader was made in another process: a forked child makes loaders of its own")
        if self._socket.fileno() < 0:
            raise Gone("the connection to stoker feed is closed")

    def words(self) -> bytes:
        """Receive a few bytes."""
        return self._socket.recv(64, NOW)

    def hand(self, word: bytes, descriptor: int) -> None:
        """Send a few bytes with a descriptor."""
        self._try(word, (descriptor,))

    def has_ended(self) -> bool:
        """Whether the other end has closed the connection."""
        if self._socket.fileno() < 0:
            return True
        poller = select.poll()
        poller.register(self._socket, select.POLLRDHUP)
        return bool(poller.poll(0))

    def ping(self) -> None:
        """Ask for a sign of life, and wait for it."""
        self.send({"type": "ping", "n": 0})
        silence, most = Silence(), patience()
        while self.receive(QUIET, RIGHTS) is None:
            if silence.grow() >= most:
                raise Hung(most, "it was asked whether it is there")

    def detach(self) -> socket.socket:
        """Return the socket for use by another process; a forked child keeps it open."""
        _connections.discard(self)
        return self._socket

    def is_inherited(self) -> bool:
        """Whether this is a forked child's copy."""
        return self._pid != os.getpid()

    def close(self) -> None:
        self._socket.close()


def _poll(end: socket.socket, events: int, wait: float) -> bool:
    poller = select.poll()
    poller.register(end, events)
    return bool(poller.poll(max(0, wait) * 1000))


# The connections of this process. A forked child closes its copies at once: else the daemon would
# not notice the end of its trainer.
_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


def _reset_after_fork() -> None:
    for connection in list(_connections):
        connection.close()
    _daemons.clear()


os.register_at_fork(after_in_child=_reset_after_fork)


class Daemon:
    """The daemon, and the connection by which this process asks for others."""

    def __init__(self, place: str | None, ranks: int, wait: Wait) -> None:
        self.log: int | None = None  # its stderr, if this process started it
        self._lock = threading.Lock()
        self.connection, process = self._start_private() if place is None else self._join_or_start(place, ranks, wait)
        self._end = weakref.finalize(self, _release_daemon, self.connection, process, self.log, place is None)

    def _start_private(self) -> tuple[Connection, subprocess.Popen[bytes]]:
        ours, theirs = pair()
        connection = Connection(ours)
        with theirs:
            try:
                return connection, self._start_process(["--fd", str(theirs.fileno())], (theirs.fileno(),))
            except StokerError:
                connection.close()
                raise

    def _join_or_start(self, place: str, ranks: int, wait: Wait) -> tuple[Connection, subprocess.Popen[bytes] | None]:
        guard = os.path.splitext(place)[0] + ".lock"
        process = None
        with lock(guard, lambda: wait.step(f"another rank holds {guard}")):  # the kernel frees it if its rank dies
            silence, most = Silence(), patience()
            while (connection := _connect_living(place)) is None:
                if process is None:
                    process = self._start_process(["--socket", place, "--ranks", str(ranks), "--parent", str(os.getpid())], ())
                    silence.end()
                elif process.poll() is not None:
                    raise Gone("stoker feed ended at once" + self.last_words())
                elif silence.grow() >= most:
                    process.kill()
                    raise Hung(most, f"it takes no connection at {place}")
                wait.step(f"stoker feed takes no connection at {place} yet{self.last_words()}")
        return connection, process

    def _start_process(self, flags: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
        log = os.memfd_create("stoker-feed-stderr")
        try:
            process = _run(["feed", *flags], descriptors, log)
        except BaseException:
            os.close(log)
            raise
        self.log = log
        return process

    def connect(self, wait: Wait) -> Connection:
        """Ask the daemon for a new connection, for one session."""
        with self._lock:
            try:
                self.connection.send({"type": "connect"})
                silence, most = Silence(), patience()
                while (got := self.connection.receive(QUIET, RIGHTS)) is None:
                    if silence.grow() >= most:
                        raise Hung(most, "a connection was asked for")
                    wait.step(f"stoker feed gives no connection yet{self.last_words()}")
            except Hung:
                self.give_up()
                raise
            except Gone as error:
                raise Gone(f"{error}{self.last_words()}") from error
        if got[0].get("type") != "connected" or len(got[1]) != 1:
            raise Gone(f"stoker feed gave no connection: {got[0]}")
        return Connection(Socket(fileno=got[1][0]))

    def last_words(self) -> str:
        """Return the daemon's last words, as the end of a sentence."""
        live = getattr(self, "_end", None)
        return read_last_words(self.log) if live is None or live.alive else ""  # later another file may have the number

    def has_ended(self) -> bool:
        """Whether the daemon has ended."""
        return self.connection.has_ended()

    def give_up(self) -> None:
        """Release a daemon that hangs.

        It is killed if only this process uses it; other ranks notice by themselves.
        """
        left = self._end.peek()
        if left is not None and (process := left[2][1]) is not None:
            if left[2][3]:
                process.kill()
            else:
                _hung.append(process)
        self._end()


# Hung daemons that other ranks may use, too. One that is still stopped when this process ends would
# never end.
_hung: list[subprocess.Popen[bytes]] = []


@atexit.register
def _end_hung() -> None:
    for process in _hung:
        _kill_stopped(process)


def _kill_stopped(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that is stopped: it cannot notice that its trainer has gone."""
    with contextlib.suppress(OSError), open(f"/proc/{process.pid}/stat", encoding="utf-8", errors="replace") as file:
        if process.poll() is None and file.read().rsplit(")", 1)[1].split()[0] in "Tt":
            process.kill()


# Path and descriptor of the binary started first: the file may be removed or replaced by another version.
_kept: tuple[str, int] | None = None


def _run(arguments: list[str], descriptors: tuple[int, ...], log: int) -> subprocess.Popen[bytes]:
    """Start the binary in a new process session."""
    global _kept
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": log, "start_new_session": True}
    if _kept is not None and not _same_file(*_kept):
        path = f"/proc/self/fd/{_kept[1]}"
        with contextlib.suppress(OSError):
            return subprocess.Popen([_kept[0], *arguments], executable=path, pass_fds=(*descriptors, _kept[1]), **quiet)
    try:
        name = find_binary()
        process = subprocess.Popen([name, *arguments], pass_fds=descriptors, **quiet)
    except StokerError as error:
        raise Gone(str(error)) from error
    except OSError as error:  # such as too little memory for a process, which must not end a training
        raise Gone(f"run {name}: {error}") from error
    if _kept is None or _kept[0] != name:
        with contextlib.suppress(OSError):
            _kept = name, os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    return process


def _same_file(name: str, descriptor: int) -> bool:
    """Whether a path still leads to the opened file, or another binary was not asked for."""
    try:
        return find_binary() != name or os.path.samestat(os.stat(name), os.fstat(descriptor))
    except (OSError, StokerError):
        return False


def _release_daemon(
    connection: Connection, process: subprocess.Popen[bytes] | None, log: int | None, alone: bool
) -> None:
    """Release the daemon. It ends when the last process has released it."""
    if connection.is_inherited():
        return
    connection.close()
    if log is not None:
        os.close(log)
    if process is None or process.poll() is not None:
        return
    if alone:
        _kill_stopped(process)
    # A garbage collection may have called this, so another thread does it.
    try:
        threading.Thread(target=_await_end, args=(process, alone), daemon=True).start()
    except RuntimeError:  # the interpreter is shutting down
        _await_end(process, alone)


def _await_end(process: subprocess.Popen[bytes], alone: bool) -> None:
    """Wait for a daemon's end. If it was only ours, it is killed after a while."""
    try:
        process.wait(ENDING if alone else None)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


#: How the first line of a crash in Go begins. The reason comes before pages of stacks.
REASONS = ("panic:", "fatal error:", "runtime: ", "unexpected fault", "SIG", "stoker: error")


def read_last_words(log: int | None) -> str:
    """Return why the daemon ended, or its last lines, as the end of a sentence."""
    if log is None:
        return ""
    most = 1 << 20
    try:
        words = os.pread(log, most, max(0, os.fstat(log).st_size - most)).decode(errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    reason = next((i for i, line in enumerate(lines) if line.startswith(REASONS)), None)
    kept = lines[-5:] if reason is None else lines[reason : reason + 3]
    return ", it said: " + " | ".join(kept) if kept else ""


class Wait:
    """A wait for a living process. The user gets one message, and it ends at the user's deadline."""

    def __init__(self, patience: float, say_to_user: Callable[[str], None]) -> None:
        self._patience = patience
        self._say: Callable[[str], None] | None = say_to_user
        self._began = time.monotonic()

    def step(self, sentence: str) -> None:
        """Sleep a moment. The sentence describes the wait."""
        waited = time.monotonic() - self._began
        if waited >= self._patience:
            raise StokerError(f"waited {waited:.0f} s: {sentence} (timeout= says how long a loader may wait)")
        if self._say and waited >= QUIET + SILENT:
            self._say(f"{sentence}: it is waited for (timeout= would end that)")
            self._say = None
        time.sleep(0.01)


def _connect_living(place: str) -> Connection | None:
    """Connect to the daemon that listens at a socket. If it hangs, its socket is removed for
    another."""
    end = _connect(place)
    if end is None:
        return None
    connection = Connection(end)
    try:
        connection.ping()
        return connection
    except Hung:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
    except Gone:
        pass  # it was about to end
    connection.close()
    return None


def _connect(place: str) -> socket.socket | None:
    end = Socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with reach(place) as name:
            end.connect(name)
    except (FileNotFoundError, ConnectionRefusedError):
        end.close()
        return None
    if (uid := peer(end)) != os.geteuid():
        end.close()
        raise StokerError(f"{place} is answered by user {uid}, not by you: remove it")
    return end


def meeting_place(job: str, tell: Callable[[str], None] = warn) -> str | None:
    """Return the path of the socket of a job's ranks on this node.

    None: no folder is private to this user, so the ranks cannot share a daemon.
    """
    try:
        return os.path.join(private_place(), f"{job}-{node()}.sock")
    except Shared as error:
        tell(
            f"the ranks of this node cannot share a daemon, each has one of its own (num_workers= says with "
            f"how many threads): {error}"
        )
        return None


# The daemons of this process by meeting place, while a session uses them.
_daemons: weakref.WeakValueDictionary[str | None, Daemon] = weakref.WeakValueDictionary()
_daemons_lock = threading.Lock()


def daemon_of(place: str | None, ranks: int, wait: Wait, fresh: bool) -> Daemon:
    with _daemons_lock:
        daemon = None if fresh else _daemons.get(place)
        if daemon is None or daemon.has_ended():
            daemon = _daemons[place] = Daemon(place, ranks, wait)
        return daemon


class Delivery(NamedTuple):
    """A batch that has arrived: its packet, and its slot's memory."""

    packet: dict[str, Any]
    memory: np.ndarray


class Session:
    """The session of one loader of one rank: its ring, and the daemon's messages about it.

    say_to_user is called with sentences, and fence as Loans describes. One thread at a time
    may use a session; loans may end in any thread.
    """

    def __init__(
        self,
        hello: dict[str, Any],
        samples: bytes,
        place: str | None,
        ranks: int,
        fence: Callable[[], Fence | None],
        timeout: float,
        say_to_user: Callable[[str], None],
    ) -> None:
        self._patience = timeout
        self._silence = patience(timeout if timeout != math.inf else 0)
        self._say = say_to_user
        self._silence_was_said = False
        self._pings = 0
        self._state = ""  # what the daemon is doing, by its own account
        self._batches: collections.deque[dict[str, Any]] = collections.deque()
        self._unsent: collections.deque[int] = collections.deque()  # releases that did not fit into the socket
        self._waited: dict[int, float] = {}  # by slot, in seconds; for the daemon's recording
        self._descriptors: list[int] = []
        self.run = 0
        self.ends: dict[tuple[int, int], dict[str, Any]] = {}  # reports by run and epoch
        self.opened: dict[str, Any] = {}
        ours = weakref.ref(self)
        self.loans = Loans(lambda slot: _release(ours, slot), fence)
        self._connection: Connection = None  # type: ignore[assignment] # until it is open
        self._daemon: Daemon = None  # type: ignore[assignment]
        self._open(hello, samples, place, ranks)
        self._end = weakref.finalize(self, self._connection.close)
        self._map()

    def _open(self, hello: dict[str, Any], samples: bytes, place: str | None, ranks: int) -> None:
        for fresh in (False, True):
            try:
                wait = Wait(self._patience, self._say)
                self._daemon = daemon_of(place, ranks, wait, fresh)
                self._connection = self._daemon.connect(wait)
                with _packet(hello, samples) as (packet, descriptors):
                    self._connection.send(packet, descriptors)
                self._wait(lambda: bool(self.opened), f"the list of {hello['spec']['root']}")
                return
            except BaseException as error:
                if self._connection is not None:
                    self._connection.close()
                if isinstance(error, Hung) and self._daemon is not None:
                    self._daemon.give_up()
                # The daemon may have been about to end after its last session.
                if fresh or not isinstance(error, Gone):
                    raise

    def _map(self) -> None:
        try:
            if not self._descriptors:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))  # the kernel drops descriptors if none is free
            self.ring = Ring(self._descriptors[0], self.opened["ring"])
            if "classes" not in self.opened and len(self._descriptors) > 1:
                self.opened["classes"] = json.loads(os.pread(self._descriptors[1], self.opened["classes_bytes"], 0))
        except OSError as error:
            self._end()
            raise Gone(f"the ring of stoker feed cannot be mapped: {error}") from error
        finally:
            for descriptor in self._descriptors:
                os.close(descriptor)

    def start(self, epoch: int, consumed: int, bad: int, **more: Any) -> None:
        """Ask for the batches from a position on. bad counts the epoch's bad samples before it."""
        self.run += 1
        while self._batches:
            self._release(self._batches.popleft()["slot"])
        self._send(
            {
                "type": "start",
                "run": self.run,
                "epoch": epoch,
                "consumed": consumed,
                **({"bad": bad} if bad else {}),
                **more,
            }
        )

    def take(self, awaited: str) -> Delivery:
        """Return the next batch of this run, waiting for it."""
        began = time.monotonic()
        self._wait(lambda: bool(self._batches), awaited)
        delivery = self._delivery()
        self._waited[delivery.packet["slot"]] = time.monotonic() - began
        return delivery

    def take_if_there(self) -> Delivery | None:
        """Return the next batch of this run if it has arrived."""
        self.loans.poll()
        if self._unsent:
            self._send_releases()
        while not self._batches and self._pump(0):
            pass
        return self._delivery() if self._batches else None

    def _delivery(self) -> Delivery:
        packet = self._batches.popleft()
        return Delivery(packet, self.ring.slot(packet["slot"]))

    def report(self, run: int, epoch: int, ending: bool = False) -> dict[str, Any] | None:
        """Return the daemon's report of an epoch; None while one of its batches is held."""
        until = time.monotonic() + ENDING
        self._wait(
            lambda: (run, epoch) in self.ends or self.loans.count_held() > 0 or (ending and time.monotonic() > until),
            f"the report of epoch {epoch}",
        )
        return self.ends.get((run, epoch))

    def _wait(self, ready: Callable[[], bool], awaited: str) -> None:
        """Receive packets until ready() is true, the daemon ends or the user's deadline passes."""
        began = heard = time.monotonic()
        asked = 0.0
        long = LONG
        silence = Silence()
        while not ready():
            self._send_releases()
            self.loans.poll()
            now = time.monotonic()
            if self._pump(self._pause(min(QUIET, began + self._patience - now))):
                heard, asked = time.monotonic(), 0.0
            elif asked and silence.grow() >= self._silence:
                raise Hung(self._silence, awaited)
            now = time.monotonic()
            waited = now - began
            if waited >= self._patience and not ready():
                raise StokerError(
                    f"waited {waited:.0f} s for {awaited}{self._why()} (timeout= says how long a loader may wait)"
                )
            if not asked and now - heard >= QUIET:
                self._pings += 1
                self._send({"type": "ping", "n": self._pings})
                asked = now
                silence.end()
            if asked and now - asked >= SILENT and not self._silence_was_said:
                self._silence_was_said = True
                self._say(
                    f"stoker feed gives no sign of life: waited {waited:.1f} s for {awaited}{self._why()}. "
                    f"Its process lives, so it is waited for, {self._silence:.0f} s in all"
                )
            elif waited >= long:
                long = self._patience  # only once
                self._say(f"waited {waited:.0f} s for {awaited}{self._why()} (timeout= would end that)")

    def _pause(self, wait: float) -> float:
        """Return how long to sleep at most: a device may free a slot that the daemon needs."""
        return min(wait, 0.001) if self.loans.is_waiting() or self._unsent else wait

    def _why(self) -> str:
        return f" ({self._state})" if self._state else ""

    def _pump(self, wait: float) -> bool:
        """Receive one packet. Returns False if none came in time."""
        try:
            got = self._connection.receive(wait, 0 if self.opened else RIGHTS)
        except Gone as error:
            raise Gone(f"{error}{self._daemon.last_words()}") from error
        if got is None:
            return False
        packet, descriptors = got
        match packet.get("type"):
            case "batch" if packet["run"] == self.run:
                self._batches.append(packet)
            case "batch":  # of an earlier position
                self._release(packet["slot"])
            case "opened":
                self.opened, self._descriptors = packet, descriptors
            case "pong":
                self._state = packet.get("state", "")
            case "end":
                self.ends[packet["run"], packet["epoch"]] = packet["report"]
            case "error":
                self._fail(packet)
        return True

    def _fail(self, packet: dict[str, Any]) -> None:
        hint = packet.get("hint")
        sentence = packet["text"] + (f" ({hint})" if hint else "")
        if packet.get("fatal"):
            self._connection.close()
            kind = packet.get("kind")
            raise (Unread if kind == "unsupported" else Unable if kind else StokerError)(sentence)
        self._say(sentence)

    def _send(self, packet: dict[str, Any]) -> None:
        try:
            self._connection.send(packet)
        except Gone:
            while self._pump(0):  # it may have said why
                pass
            raise

    def _release(self, slot: int) -> None:
        waited = self._waited.pop(slot, 0.0)
        if not self._connection.send_now(b'{"type":"release","slot":%d,"waited":%.6f}' % (slot, waited)):
            self._waited[slot] = waited
            self._unsent.append(slot)

    def _send_releases(self) -> None:
        for _ in range(len(self._unsent)):
            self._release(self._unsent.popleft())

    def close(self) -> None:
        """End the session. Batches that are held stay valid."""
        self._connection.send_now(b'{"type":"close"}')
        self._end()

    def give_up(self, error: Gone) -> None:
        """End the session after the daemon died, hung or failed."""
        self._end()
        if isinstance(error, (Hung, Unable)):
            self._daemon.give_up()


def _release(session: weakref.ref[Session], slot: int) -> None:
    found = session()
    if found is not None:
        found._release(slot)


@contextlib.contextmanager
def _packet(hello: dict[str, Any], samples: bytes) -> Iterator[tuple[dict[str, Any], tuple[int, ...]]]:
    """Build the packet of an open. A list of samples, or a large spec, is sent in a file with it."""
    spec = json.dumps(hello["spec"], separators=(",", ":")).encode()
    if len(spec) <= MAX_PACKET - 4096 and not samples:
        yield hello, ()
        return
    with open(os.memfd_create("stoker-spec"), "wb") as file:
        file.write(spec)
        file.write(samples)
        file.flush()
        in_file = {"spec_bytes": len(spec), **({"list_bytes": len(samples)} if samples else {})}
        yield {**{name: value for name, value in hello.items() if name != "spec"}, **in_file}, (file.fileno(),)
