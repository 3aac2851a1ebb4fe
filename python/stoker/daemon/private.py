"""Folders that only this user can write, checked at every level, and the owner of a socket's other
end.

Whoever can write to a folder on a path can replace the rest of the path. So each folder from the
root down must belong to root or the user, and must not be writable by group or others. /tmp is not
private: anybody may take a name in it once its file is gone. internal/private is the same rule in
Go, and its testdata/cases.json has the cases of both.
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

MAX_LINKS = 40  # the kernel's limit
MAX_SOCKET_PATH = 107  # bytes that fit into sockaddr_un, with the final zero


class Shared(StokerError):
    """A folder is missing, or others can write to it; the message says which."""


def check(path: str, uid: int | None = None) -> str:
    """Resolve a path, and its links, from the root. Raises Shared if others can write to a folder
    in it."""
    uid = os.geteuid() if uid is None else uid
    if not path.startswith("/"):
        raise Shared(f"{path!r} is not an absolute path")
    _check_folder("/", uid)
    at, links, ahead = "/", 0, path.split("/")[::-1]
    while ahead:
        name = ahead.pop()
        if name in ("", "."):
            continue
        step = os.path.normpath(os.path.join(at, name))
        try:
            to = os.readlink(step) if name != ".." else ""
        except OSError:  # not a link
            to = ""
        if to:
            links += 1
            if links > MAX_LINKS:
                raise Shared(f"{path} leads in a circle")
            at = "/" if to.startswith("/") else at
            ahead += to.split("/")[::-1]
            continue
        _check_folder(step, uid)
        at = step
    return at


def _check_folder(path: str, uid: int) -> None:
    try:
        found = os.lstat(path)
    except OSError as error:
        raise Shared(f"look at {path}: {(error.strerror or str(error)).lower()}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise Shared(f"{path} is not a folder")
    if found.st_uid not in (0, uid):
        raise Shared(f"{path} belongs to user {found.st_uid}")
    if found.st_mode & 0o022:
        raise Shared(f"{path} may be written by others (mode {stat.S_IMODE(found.st_mode):04o})")


def make(base: str, *below: str) -> str:
    """Like check, for folders below an existing one. Missing ones are made with mode 0700."""
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
    """Return the first of the user's private folders that is writable; see Try in internal/private."""
    wrong: dict[str, None] = {}
    for base, *below in _list_places():
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


def _list_places() -> Iterator[tuple[str, ...]]:
    """Yield folders that must exist, each with names to create below it."""
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield runtime, "stoker"
    yield from caches()


def caches() -> Iterator[tuple[str, ...]]:
    """Yield the same for folders that survive a reboot."""
    if cache := os.environ.get("XDG_CACHE_HOME"):
        yield *os.path.split(os.path.normpath(cache)), "stoker"
    home = os.environ.get("HOME")
    if home:
        yield home, ".cache", "stoker"
    with contextlib.suppress(KeyError):
        if (entry := pwd.getpwuid(os.geteuid()).pw_dir) != home:
            yield entry, ".cache", "stoker"


def node() -> str:
    """Return a name of this machine or container since its start: many machines may share a home."""
    said = [socket.gethostname()]
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            said.append(file.read())
        said.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:8]


@contextlib.contextmanager
def reach(path: str) -> Iterator[str]:
    """Yield a name for a socket that is short enough: of a long path, one through a descriptor of
    its folder."""
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


def peer(end: socket.socket) -> int:
    """Return the user who listened or connected at the other end of a unix socket."""
    return struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]


@contextlib.contextmanager
def lock(path: str, wait: Callable[[], None]) -> Iterator[None]:
    """Hold a lock file within this context; wait is called while another process holds it.

    The file is open for writing, as NFS locks no folder.
    """
    while not _try_lock(file := os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), path):
        os.close(file)
        wait()
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # the next process makes it again
        os.close(file)


def _try_lock(file: int, path: str) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the code under the lock must be safe without it
        return True
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:  # its last holder has just removed it
        return False
