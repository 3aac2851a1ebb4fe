"""Which operations the daemon may compute: those whose bytes equal the installed libraries'.

Trials run once for a machine and a set of versions. Their result is kept in the user's cache;
without a cache, they run in each process that starts a loader.
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

_LONGEST = 1 << 16  # bytes of a cache entry
_DEFERRED = os.path.dirname(os.path.dirname(__file__))


class Unfit(Exception):
    """The daemon may not compute anything here; the message says why."""


Make = Callable[[list["Job"]], "list[Job] | None"]  # as a Line


def check(make: Make, kind: str = "", trials: Callable[[], Iterable[Any]] | None = None) -> set[str]:
    """Return what the libraries must compute, from the cache or by running the trials of a kind."""
    names: set[str] = set()

    def note_names() -> Iterator[Any]:
        for row in trials() if trials else ():
            names.add(row.name)
            yield row

    def may_be_kept(found: set[str]) -> bool:
        return not names or not found >= names  # if all differ, the fault may be temporary

    found = _recall_or_try(_make_key(kind), lambda: _try(make, note_names) if trials else _try(make), may_be_kept)
    if {"JPEG", "PNG"} <= found:
        raise Unfit(f"the daemon's bytes are not those of Pillow {_pillow().__version__} here")
    return found


def _recall_or_try(
    key: str, attempt: Callable[[], set[str]], keep: Callable[[set[str]], bool] | None = None
) -> set[str]:
    """Return the cached result, or that of an attempt. keep says whether that may be cached."""
    found = _read_cache(key)
    if found is None:
        with _without_collection():
            found = attempt()
        if _is_pristine() and (keep is None or keep(found)):
            _write_cache(key, found)
    return found


def _try(make: Make, trials: Callable[[], Iterable[Any]] | None = None) -> set[str]:
    """Run all trials in one request. Returns the names of those that fail or differ."""
    from ..recipes.bits import same_bits
    from . import trials as _trials

    rows = list((trials or _trials.trials)())
    left = make([row.job for row in rows])
    if left is None:
        raise Gone("the daemon ended while it was tried")
    unmade = set(map(id, left))
    return {row.name for row in rows if id(row.job) in unmade or not same_bits(row.job.place, row.expected)}


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Switch off garbage collection within this context: one pass over torch's objects is slower
    than all trials."""
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


# The cache.


def _make_key(kind: str = "") -> str:
    """Return a digest of all that results may depend on."""
    core, tried = _pillow().core, ["materialize/trials.py"]
    if kind:
        tried.append("torchvision/vision_trials.py")
    inputs = {
        "stoker": [__version__, *mark_file(find_binary()), *(each for path in tried for each in mark_file(os.path.join(_DEFERRED, path)))],
        "kind": [kind, _find_capability()],
        "pillow": [_pillow().__version__, *mark_file(core.__file__)],
        "libraries": {name: str(getattr(core, name, "")) for name in ("jpeglib_version", "libjpeg_turbo_version", "zlib_version")},
        "versions": {name: _find_version(name) for name in ("numpy", "torch", "torchvision")},
        "python": platform.python_version(),
        "machine": [platform.machine(), _read_processor()],
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _find_capability() -> str:
    """Return the instruction set that torch uses on this processor."""
    torch = sys.modules.get("torch")
    return str(torch.backends.cpu.get_cpu_capability()) if torch is not None else ""


def mark_file(path: str) -> list[Any]:
    """Return size and time of a file: they change if it is replaced."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return [found.st_size, found.st_mtime_ns]
    return [path]


def _find_version(name: str) -> str:
    module = sys.modules.get(name)
    if module is not None:
        return str(module.__version__)
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _read_processor() -> list[str]:
    """Return the first processor's model and features: libraries choose their code by them."""
    names = ("model name", "flags", "Features", "CPU part")
    with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb", 8192) as file:
        lines = file.read(8192).decode(errors="replace").split("\n\n")[0].splitlines()
        return [line for line in lines if line.split("\t")[0].split(":")[0].strip() in names]
    return []


def _find_folder() -> str | None:
    """Return the cache's folder; None if others could write to it."""
    for base, *below in caches():
        with contextlib.suppress(Shared):
            return make(base, *below, "trials")
    return None


def _read_cache(key: str) -> set[str] | None:
    """Return the cached result; None if it is missing or cannot be trusted."""
    folder = _find_folder()
    if folder is None:
        return None
    try:
        descriptor = os.open(os.path.join(folder, key), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid() or status.st_mode & 0o022 or not stat.S_ISREG(status.st_mode):
                return None
            found = json.loads(file.read(_LONGEST))
        left = found["left"]
        return set(left) if found["key"] == key and all(isinstance(name, str) for name in left) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write_cache(key: str, left: set[str]) -> None:
    """Write an entry to the cache atomically."""
    folder = _find_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        descriptor, path = tempfile.mkstemp(dir=folder)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"key": key, "left": sorted(left)}, file)
            os.replace(path, os.path.join(folder, key))
        except BaseException:
            os.unlink(path)
            raise


def _is_pristine() -> bool:
    """Whether Pillow's methods are its own or our patches, so that a program's patches are not
    cached."""
    image = _pillow()
    homes = os.path.dirname(image.__file__) + os.sep, _DEFERRED + os.sep
    methods = (getattr(image.Image, name) for name in ("convert", "point", "transform", "_new"))
    files = [getattr(getattr(method, "__code__", None), "co_filename", "") for method in methods]
    return all(file.startswith(homes) for file in files)


def describe_untrusted(left: set[str]) -> str:
    """Say which operations the libraries compute."""
    return (
        f"left to Pillow {_pillow().__version__} and torch, whose bytes differ from the daemon's here: "
        + ", ".join(sorted(left))
    )


def trust(left: set[str]) -> None:
    """Leave these operations to the libraries from now on."""
    pictures.untrusted.clear()
    pictures.untrusted.update(left)
