"""What the daemon may make here: what it was seen to make as the installed libraries do.

Each operation is tried once on a machine with a set of versions. What came of it is kept in the user's cache; without
one it is tried in each process that starts a loader.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib.metadata
import json
import os
import platform
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ... import __version__
from ..._verbs import find_binary
from ...daemon.private import Shared, caches, make
from ...daemon.session import Gone
from ..recipes import pictures

if TYPE_CHECKING:
    from ..recipes.job import Job

_LONGEST = 1 << 16  # bytes of an entry
_DEFERRED = os.path.dirname(os.path.dirname(__file__))


class Unfit(Exception):
    """The daemon cannot make anything here; the message says why."""


Make = Callable[[list["Job"]], "list[Job] | None"]  # as a Line's


def check(make: Make, kind: str = "", trials: Callable[[], Iterable[Any]] | None = None) -> set[str]:
    """What is left to the libraries. If that is not known, the daemon makes all that can be tried, of a kind."""
    names: set[str] = set()

    def named() -> Iterator[Any]:
        for row in trials() if trials else ():
            names.add(row.name)
            yield row

    def may_be_kept(found: set[str]) -> bool:
        return not names or not found >= names  # where all differ the fault may pass

    found = _known(_key(kind), lambda: _try(make, named) if trials else _try(make), may_be_kept)
    if {"JPEG", "PNG"} <= found:
        raise Unfit(f"the daemon's bytes are not those of Pillow {_pillow().__version__} here")
    return found


def _known(key: str, attempt: Callable[[], set[str]], keep: Callable[[set[str]], bool] | None = None) -> set[str]:
    """What is kept of it, or comes of an attempt, which is kept if it is fit to be."""
    found = _kept(key)
    if found is None:
        with _uncollected():
            found = attempt()
        if _pristine() and (keep is None or keep(found)):
            _keep(key, found)
    return found


def _try(make: Make, trials: Callable[[], Iterable[Any]] | None = None) -> set[str]:
    """Have all trials made in one request; what differs, or is not made."""
    from ..recipes.bits import same_bits
    from . import trials as _trials

    rows = list((trials or _trials.trials)())
    left = make([row.job for row in rows])
    if left is None:
        raise Gone("the daemon ended while it was tried")
    unmade = set(map(id, left))
    return {row.name for row in rows if id(row.job) in unmade or not same_bits(row.job.place, row.expected)}


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without garbage collection: one that goes through all of torch's objects takes longer than all trials."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _pillow() -> Any:
    import PIL.Image

    return PIL.Image


# Where it is kept.


def _key(kind: str = "") -> str:
    """A digest of all that the bytes may depend on."""
    core, tried = _pillow().core, ["materialize/trials.py"]
    if kind:
        tried.append("torchvision/vision_trials.py")
    told = {
        "stoker": [__version__, *mark(find_binary()), *(each for path in tried for each in mark(os.path.join(_DEFERRED, path)))],
        "kind": [kind, _capability()],
        "pillow": [_pillow().__version__, *mark(core.__file__)],
        "libraries": {name: str(getattr(core, name, "")) for name in ("jpeglib_version", "libjpeg_turbo_version", "zlib_version")},
        "versions": {name: _version(name) for name in ("numpy", "torch", "torchvision")},
        "python": platform.python_version(),
        "machine": [platform.machine(), _processor()],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _capability() -> str:
    """Which of its codes torch has chosen for this processor."""
    torch = sys.modules.get("torch")
    return str(torch.backends.cpu.get_cpu_capability()) if torch is not None else ""


def mark(path: str) -> list[Any]:
    """What changes when another file comes in its place."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return [found.st_size, found.st_mtime_ns]
    return [path]


def _version(name: str) -> str:
    module = sys.modules.get(name)
    if module is not None:
        return str(module.__version__)
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _processor() -> list[str]:
    """What the first processor can do, which decides who computes how."""
    names = ("model name", "flags", "Features", "CPU part")
    with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb", 8192) as file:
        lines = file.read(8192).decode(errors="replace").split("\n\n")[0].splitlines()
        return [line for line in lines if line.split("\t")[0].split(":")[0].strip() in names]
    return []


def _folder() -> str | None:
    """In the user's cache; None where there is none that others cannot write."""
    for base, *below in caches():
        with contextlib.suppress(Shared):
            return make(base, *below, "trials")
    return None


def _kept(key: str) -> set[str] | None:
    """What was found; None where there is nothing, or nothing that can be believed."""
    folder = _folder()
    if folder is None:
        return None
    try:
        descriptor = os.open(os.path.join(folder, key), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            told = os.fstat(descriptor)
            if told.st_uid != os.geteuid() or told.st_mode & 0o022 or not stat.S_ISREG(told.st_mode):
                return None
            found = json.loads(file.read(_LONGEST))
        left = found["left"]
        return set(left) if found["key"] == key and all(isinstance(name, str) for name in left) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _keep(key: str, left: set[str]) -> None:
    """Put it there as a whole, or not at all."""
    folder = _folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        descriptor, path = tempfile.mkstemp(dir=folder)
        try:
            with open(descriptor, "w") as file:
                json.dump({"key": key, "left": sorted(left)}, file)
            os.replace(path, os.path.join(folder, key))
        except BaseException:
            os.unlink(path)
            raise


def _pristine() -> bool:
    """Whether Pillow's methods are Pillow's, or ours around them: what a program puts in their place is its own."""
    image = _pillow()
    homes = os.path.dirname(image.__file__) + os.sep, _DEFERRED + os.sep
    methods = (getattr(image.Image, name) for name in ("convert", "point", "transform", "_new"))
    files = [getattr(getattr(method, "__code__", None), "co_filename", "") for method in methods]
    return all(file.startswith(homes) for file in files)


def say_left(left: set[str]) -> str:
    """A sentence about it."""
    return (
        f"left to Pillow {_pillow().__version__} and torch, whose bytes differ from the daemon's here: "
        + ", ".join(sorted(left))
    )


def trust(left: set[str]) -> None:
    """From here on these are left."""
    pictures.left.clear()
    pictures.left.update(left)
