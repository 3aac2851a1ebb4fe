"""The start-up hook of `stoker feed -- CMD`, for programs that it applies to. sitecustomize.py loads it.

When a loader of PyTorch's or torchdata's is iterated for the first time it imports the client, which does the rest. It
imports nothing before, prints a line where there is no client, and leaves the program alone then.

The client is the package `stoker` if the program has it installed. Else it is the one next to the binary, under a name
that is found by its path alone, so that neither a folder nor a package of the program's named `stoker` is
taken for it, and none of the program's is hidden.
"""

import _thread
import os
import sys

#: What makes iterators, by module.
NAMES = {
    "torch.utils.data.dataloader": ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"),
    "torchdata.stateful_dataloader.stateful_dataloader": ("_StatefulSingleProcessDataLoaderIter", "_StatefulMultiProcessingDataLoaderIter"),
    "torchdata.nodes.map": ("_InlineMapperIter", "_ParallelMapperIter"),
}

_lock = _thread.allocate_lock()  # loaders may begin in several threads at once


CLIENT = "_stoker"  # the package next to the binary


def _has_installed():
    """Whether what the program would import as stoker is our package."""
    import importlib.util

    try:
        spec = importlib.util.find_spec("stoker")
    except (ImportError, ValueError):
        return False
    return spec is not None and bool(spec.origin) and os.path.exists(os.path.join(os.path.dirname(spec.origin), "deferred", "deferring.py"))


def _find_client(name):
    """The spec of the package next to the binary, or of a module in it; None for another name."""
    import importlib.util

    beside, names = os.environ.get("STOKER_FEED_PYTHON"), name.split(".")
    if not beside or names[0] != CLIENT:
        return None
    path = os.path.join(beside, "stoker", *names[1:])
    folder, file = [path], os.path.join(path, "__init__.py")
    if not os.path.isdir(path):
        folder, file = None, path + ".py"
    if not os.path.exists(file):
        return None
    return importlib.util.spec_from_file_location(name, file, loader=_loader(name, file), submodule_search_locations=folder)


def _loader(name, file):
    """A loader of our modules, whose code has no file that coverage would count as the program's."""
    import _imp
    from importlib.machinery import SourceFileLoader

    class Loader(SourceFileLoader):
        def get_code(self, fullname):
            code = SourceFileLoader.get_code(self, fullname)
            _imp._fix_co_filename(code, "<stoker>/" + os.path.basename(file))
            return code

    return Loader(name, file)


class _Finder:
    """Finds the client, and these modules, which it has watched."""

    looking = False

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == CLIENT:
            return _find_client(name)
        if name not in NAMES or self.looking:
            return None
        import importlib.util

        self.looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking = False
        if spec is not None and spec.loader is not None:
            _watch(spec.loader)
        return spec


def _watch(loader):
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        for name in NAMES.get(module.__name__, ()):
            try:
                _arm(getattr(module, name))
            except Exception:
                pass  # another version than we know

    loader.exec_module = exec_module


_armed = []  # kinds, what made them before, and what does now
_taken = []  # of the latter


def _arm(kind):
    """The first that is made begins; others wait until it has."""
    make, begun = kind.__init__, []

    def __init__(self, *args, **kwargs):
        with _lock:
            if not begun:
                begun.append(True)
                _begin()
        # Where somebody has put something around it, this is below what the client put there.
        return (kind.__init__ if __init__ in _taken else make)(self, *args, **kwargs)

    kind.__init__ = __init__
    _armed.append((kind, make, __init__))


def take(kind):
    """What the client puts its own around: what was there before us, whose place it takes."""
    for each, make, ours in _armed:
        if each is kind and kind.__init__ is ours:
            _taken.append(ours)
            return make
    return kind.__init__


def _after_fork():
    """In a forked child: a thread of the parent's may hold it."""
    global _lock
    _lock = _thread.allocate_lock()


def _has_closed_stream():
    """Whether the program has a standard stream closed: the client's descriptors would get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            return True
    return False


_failed = []


def _begin():
    """Import the client, and have it feed all loaders."""
    if _failed:
        return
    try:
        if _has_closed_stream():
            raise OSError("stdin, stdout or stderr is closed: </dev/null or >/dev/null opens it")
        import importlib

        importlib.import_module(("stoker" if _has_installed() else CLIENT) + ".deferred.deferring").enable()
    except Exception as error:
        _failed.append(True)
        if sys.stderr is None:
            return
        remedy = " (pip install ./python brings the client)" if isinstance(error, ImportError) else ""
        sys.stderr.write("stoker: feed: the program runs as without stoker: %s: %s%s\n" % (type(error).__name__, error, remedy))


def begin():
    """Wait for the modules that have loaders."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    sys.meta_path.insert(0, _Finder())
