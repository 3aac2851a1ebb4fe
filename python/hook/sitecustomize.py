"""Stoker's start-up hook: times the input boundary of a PyTorch program from inside, without a change to it.

It is first on PYTHONPATH, so `site` imports it. Every Python pays for this file, and compiles it again if no .pyc
may be kept. So it only asks whether there is work, has hook.py do it, and gives way to the sitecustomize that the
program would have had without us. It parses on every Python (2.7 too): a syntax error would be printed by `site`.
"""

import os
import sys

NAME = "_stoker_hook"  # of hook.py, as a module


def _give_way(code):
    """Undo what our import did, so that the program's own sitecustomize is found."""
    folder = os.path.dirname(__file__)
    for path in (folder, os.environ.get("STOKER_HOOK_DIR", folder)):
        if path in sys.path:
            sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)
    if sys.version_info >= (3, 8) and NAME not in sys.modules and _has_work():
        try:
            _load(folder).keep_compiled(__spec__, code)
        except Exception:
            pass  # `site` would print it


def _has_work():
    """Whether `stoker tune` set something, or somebody listens."""
    asked = [os.environ.get("STOKER_" + name) for name in ("PLAN", "LIVE", "LOSSES")]
    return any(asked) or os.path.exists(os.environ.get("STOKER_HOOK_SOCKET", ""))


def _load(folder):
    """Run hook.py. These are the two halves of importlib, which are there: to import importlib.util costs 2 ms."""
    spec = sys.modules["_frozen_importlib_external"].spec_from_file_location(NAME, os.path.join(folder, "hook.py"))
    module = sys.modules[NAME] = sys.modules["_frozen_importlib"].module_from_spec(spec)
    code = spec.loader.get_code(NAME)
    sys.modules["_imp"]._fix_co_filename(code, "<stoker>/hook.py")  # coverage would count the hook's file as the program's
    exec(code, vars(module))
    return module


if __name__ == "sitecustomize":
    me = sys.modules.pop(__name__)  # held, because Python 2 clears a module without references
    _give_way(sys._getframe().f_code)
    # The import system searches for the name once more, now without our folder. The module that it finds takes our place in
    # sys.modules; if it finds nothing, `site` gets the ImportError that it would have got without us.
    import sitecustomize  # noqa: F401
