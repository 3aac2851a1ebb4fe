"""Stoker's start-up hook of `stoker feed -- CMD`: has the pictures of a PyTorch program made by the daemon.

It is first on PYTHONPATH, so `site` imports it, in CMD and in its children. It only loads feed.py, and gives way to
the sitecustomize that the program would have had without us. It parses on every Python (2.7 too), and those older than
3.8 are left alone.
"""

import os
import sys

NAME = "_stoker_feed_hook"  # of feed.py, as a module


def _give_way():
    """Undo what our import did, so that the program's own sitecustomize is found."""
    folder = os.path.dirname(__file__)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path_importer_cache.pop(folder, None)
    if sys.version_info >= (3, 8) and NAME not in sys.modules:
        try:
            _load(folder).begin()
        except Exception:
            pass  # `site` would print it


def _load(folder):
    """Run feed.py, whose code gets no file that coverage would count as the program's."""
    spec = sys.modules["_frozen_importlib_external"].spec_from_file_location(NAME, os.path.join(folder, "feed.py"))
    module = sys.modules[NAME] = sys.modules["_frozen_importlib"].module_from_spec(spec)
    code = spec.loader.get_code(NAME)
    sys.modules["_imp"]._fix_co_filename(code, "<stoker>/feed.py")
    exec(code, vars(module))
    return module


if __name__ == "sitecustomize":
    me = sys.modules.pop(__name__)  # held, because Python 2 clears a module without references
    _give_way()
    # The import system searches for the name once more, now without our folder. The module that it finds takes our place in
    # sys.modules; if it finds nothing, `site` gets the ImportError that it would have got without us.
    import sitecustomize  # noqa: F401
