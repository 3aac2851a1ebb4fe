"""Folders that this user alone can write, at every level; and who else is at a socket or a file in them.

Whoever can write a folder on the way to a file can put another in its place. So each folder from the root down must
belong to root or to the user, and neither group nor others may write to it: /tmp, where a name is anybody's once its
file is gone, is none. internal/private is the same rule in Go; its testdata/cases.json is the table of cases of both.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pwd
import socket
import stat
import struct
from collections.abc import Callable, Iterator

from .._verbs import StokerError

MAX_LINKS = 40  # where the kernel gives up as well
MAX_SOCKET_PATH = 107  # bytes that fit into sockaddr_un, with its closing zero


class Shared(StokerError):
    """A folder that others can write, or none; the message says why."""


def check(path: str, uid: int | None = None) -> str:
    """Follow a path from the root, links included, and return it without them; Shared where others can write on the
    way."""
    uid = os.geteuid() if uid is None else uid
    if not path.startswith("/"):
        raise Shared(f"{path!r} is no absolute path")
    _alone("/", uid)
    at, links, ahead = "/", 0, path.split("/")[::-1]
    while ahead:
        name = ahead.pop()
        if name in ("", "."):
            continue
        step = os.path.normpath(os.path.join(at, name))
        try:
            to = os.readlink(step) if name != ".." else ""
        except OSError:  # no link
            to = ""
        if to:
            links += 1
            if links > MAX_LINKS:
                raise Shared(f"{path} leads in a circle")
            at = "/" if to.startswith("/") else at
            ahead += to.split("/")[::-1]
            continue
        _alone(step, uid)
        at = step
    return at


def _alone(path: str, uid: int) -> None:
    try:
        found = os.lstat(path)
    except OSError as error:
        raise Shared(f"look at {path}: {(error.strerror or str(error)).lower()}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise Shared(f"{path} is no folder")
    if found.st_uid not in (0, uid):
        raise Shared(f"{path} belongs to user {found.st_uid}")
    if found.st_mode & 0o022:
        raise Shared(f"{path} may be written by others (mode {stat.S_IMODE(found.st_mode):04o})")


def make(base: str, *below: str) -> str:
    """Like check, for a folder below one that is there: what is missing is made, with mode 0700."""
    real = check(base)
    for name in below:
        path = os.path.join(real, name)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
        except OSError as error:
            raise Shared(f"make {path}: {(error.strerror or str(error)).lower()}") from error
        real = check(path)
    return real


def place() -> str:
    """The first of the user's private places that can be written; see Try in internal/private."""
    wrong: dict[str, None] = {}
    for base, *below in _ways():
        try:
            found = make(base, *below)
            if os.access(found, os.W_OK):
                return found
            wrong[f"{found} cannot be written"] = None
        except Shared as error:
            wrong[str(error)] = None
    said = ", ".join(wrong) or "neither XDG_RUNTIME_DIR nor HOME names a folder"
    raise Shared(
        f"there is no folder that you alone can write: {said}. Use chmod go-w on what is yours of these, "
        "or set XDG_RUNTIME_DIR to a folder of yours in which and above which others cannot write"
    )


def _ways() -> Iterator[tuple[str, ...]]:
    """Folders that must be there, each with what may be made below it."""
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield runtime, "stoker"
    yield from caches()


def caches() -> Iterator[tuple[str, ...]]:
    """Likewise, of those that stay."""
    if cache := os.environ.get("XDG_CACHE_HOME"):
        yield *os.path.split(os.path.normpath(cache)), "stoker"
    home = os.environ.get("HOME")
    if home:
        yield home, ".cache", "stoker"
    with contextlib.suppress(KeyError):
        if (entry := pwd.getpwuid(os.geteuid()).pw_dir) != home:
            yield entry, ".cache", "stoker"


def node() -> str:
    """A name of this machine, or container, since its start: a home may be shared by many."""
    said = [socket.gethostname()]
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id") as file:
            said.append(file.read())
        said.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:8]


@contextlib.contextmanager
def reach(path: str) -> Iterator[str]:
    """The path of a socket under a name that is short enough for it: a long one leads through a descriptor of its
    folder."""
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


def peer(end: socket.socket) -> int:
    """The user at the other end of a unix socket: who listened or connected, not who holds it now."""
    return struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]


@contextlib.contextmanager
def lock(path: str, wait: Callable[[], None]) -> Iterator[None]:
    """Keep other processes out by a file that is there for the time; wait is called while another has it.

    NFS locks no folder, only a file that is open for writing.
    """
    while not _locked(file := os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), path):
        os.close(file)
        wait()
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # who waits for it makes it anew
        os.close(file)


def _locked(file: int, path: str) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks: what is done under them must be safe without
        return True
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:  # who had it has just let go of it
        return False
