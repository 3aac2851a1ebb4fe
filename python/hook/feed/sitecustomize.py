"""Stoker's start-up hook of `stoker feed -- CMD`: has the pictures of a PyTorch program made by the daemon.

It lies first on PYTHONPATH, so `site` imports it, in CMD and in what CMD starts. When a loader of PyTorch's or
torchdata's is iterated for the first time it imports the client (stoker._defer), which does the rest. It imports nothing
before, prints a line where there is no client, and leaves the program alone then. Python older than 3.8 steps aside.
"""

import os
import sys

#: What makes iterators, by module.
NAMES = {
    "torch.utils.data.dataloader": ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"),
    "torchdata.stateful_dataloader.stateful_dataloader": ("_StatefulSingleProcessDataLoaderIter", "_StatefulMultiProcessingDataLoaderIter"),
    "torchdata.nodes.map": ("_InlineMapperIter", "_ParallelMapperIter"),
}

try:
    import _thread

    _lock = _thread.allocate_lock()  # loaders may begin in several threads at once
except ImportError:  # Python 2, which steps aside
    pass


class _Finder(object):
    """Finds these modules, and has them watched."""

    looking = False

    def find_spec(self, name, path=None, target=None):
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


def _forked():
    """In a forked child: a thread of the parent's may hold it."""
    global _lock
    _lock = _thread.allocate_lock()


def _closed():
    """Whether the program has a standard stream closed: the client's descriptors would get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            return True
    return False


_failed = []


def _begin():
    """Import the client, which may lie beside the binary that started the program."""
    if _failed:
        return
    try:
        if _closed():
            raise OSError("stdin, stdout or stderr is closed: </dev/null or >/dev/null opens it")
        try:
            import stoker._defer
        except ImportError:
            beside = os.environ.get("STOKER_FEED_PYTHON")
            if not beside:
                raise
            sys.path.append(beside)
            import stoker._defer
        stoker._defer.enable()
    except Exception as error:
        _failed.append(True)
        if sys.stderr is None:
            return
        remedy = " (pip install ./python brings the client)" if isinstance(error, ImportError) else ""
        sys.stderr.write("stoker: feed: the program runs as without stoker: %s: %s%s\n" % (type(error).__name__, error, remedy))


def _give_way():
    """Undo what our import did, so that the sitecustomize is found that the program would have had without us."""
    folder = os.path.dirname(__file__)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path_importer_cache.pop(folder, None)
    me = sys.modules.pop("sitecustomize")
    if sys.modules.setdefault("_stoker_feed_hook", me) is me and sys.version_info >= (3, 8):
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forked)
        sys.meta_path.insert(0, _Finder())


if __name__ == "sitecustomize":
    _give_way()
    # The import system looks for the name once more, now without our folder. What it finds takes our place in
    # sys.modules; if it finds nothing, `site` gets the ImportError that it would have got without us.
    import sitecustomize  # noqa: F401
