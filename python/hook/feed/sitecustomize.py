"""Stoker's start-up hook of `stoker feed -- CMD`: has the pictures of a PyTorch program made by the daemon.

It lies first on PYTHONPATH, so `site` imports it, in CMD and in what CMD starts. When a DataLoader is iterated for the
first time it imports the client (stoker._defer), which does the rest. It imports nothing before, prints a line where there
is no client, and leaves the program alone then. Python older than 3.8 steps aside.
"""

import os
import sys

NAME = "torch.utils.data.dataloader"


class _Finder(object):
    """Finds one module, and has it watched."""

    def find_spec(self, name, path=None, target=None):
        if name != NAME:
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            _watch(spec.loader)
        return spec


def _watch(loader):
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        try:
            _arm(module.DataLoader)
        except Exception:
            pass  # another torch than we know

    loader.exec_module = exec_module


def _arm(kind):
    iterate, begun = kind.__iter__, []

    def __iter__(self):
        if not begun:
            begun.append(True)
            _begin()
        return iterate(self)

    kind.__iter__ = __iter__


def _closed():
    """Whether the program has a standard stream closed: the client's descriptors would get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            return True
    return False


def _begin():
    """Import the client, which may lie beside the binary that started the program."""
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
        sys.meta_path.insert(0, _Finder())


if __name__ == "sitecustomize":
    _give_way()
    # The import system looks for the name once more, now without our folder. What it finds takes our place in
    # sys.modules; if it finds nothing, `site` gets the ImportError that it would have got without us.
    import sitecustomize  # noqa: F401
