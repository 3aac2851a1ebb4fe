"""Stoker's start-up hook: times the input boundary of a PyTorch program from inside, without a change to it.

What it does. It lies first on PYTHONPATH, so `site` imports it. It waits for torch.utils.data.dataloader to be imported,
then times every iterator of a DataLoader, on the host's clock and on the device's own, and reports to `stoker observe`.
The same for stoker.DataLoader, once stoker._torch is imported.
What it does not. It never imports torch, never initialises CUDA, never synchronises, starts no thread, draws no random
number, prints nothing, keeps no reference to a batch, and decides nothing: the reader judges.
Neighbours. python/hook (Go) carries these files, observe writes them to a private folder and reads the socket in the
words of protocol.txt; stoker.emulated is a device to test with.

This file is the start alone, which each Python pays for. Its parts are loaded when torch is there: guard, channel,
describe, device, boundary, fetch, lend, process, patches; then inside, own, inputs, trace, log where they are needed,
and apply, precision, live, voice, state for `stoker tune`. A part says `from . import NAME`.

The user's program comes first:
  - Only our own code is guarded (`guarded`). The user's calls stand outside of every guard; KeyboardInterrupt passes.
  - The first error of ours sends one `warn` record and puts the original functions back.
  - Python older than 3.8 steps aside. The file parses on all of them (2.7 too): a syntax error would be printed by `site`.
"""

import os
import sys

# Modules whose import is waited for; patches.py knows what is replaced in each.
WANTED = (
    "torch.utils.data.dataloader",
    "stoker._torch",
    "torch.optim.optimizer",
    "torch.cuda.graphs",
    "torch.nn.modules.module",
    "torch.autograd",
    "torch.serialization",
    "safetensors.torch",
    "fastai.optimizer",
    "jax",
    "torch.compiler",
    "torch._dynamo.callback",
    "torch._dynamo.convert_frame",
    "ray.data.iterator",
    "nvidia.dali.plugin.pytorch",
    "nvidia.dali.plugin.jax.iterator",
    "spdl.pipeline._pipeline",
    "tensorflow.python.data.ops.iterator_ops",
    "grain._src.python.data_loader",
    "grain._src.python.dataset.dataset",
)
PARTS = "guard channel describe device boundary fetch process patches inside own lend inputs trace log apply precision live voice state".split()
PACKAGE = "_stoker_hook" if __name__ == "sitecustomize" else __name__  # what the parts are in


class _Now(object):
    """What the hook knows in this process now. Of a process's loaders and records, `state` does."""

    def __init__(self):
        self.off = True  # until `begin`; and for good after an error of ours, with no one to report to, at exit
        self.state = None  # of this process; a forked child gets its own
        self.patches = []  # (owner, name, original, ours)
        self.graves = []  # states of our parents: to free an event is to use the device, which a forked child must not
        self.is_compiling = None  # torch's function of that name
        self.turn = [0, 0]  # fetches so far; mask: those whose number has one of its bits are not timed
        self.ours = [globals()]  # of this file and of the parts that were loaded: how frames of ours are told
        self.parts = {}  # those that were loaded, by name
        self.captures = set()  # ids of the CUDA graphs being captured now, in any thread
        self.captured = False  # whether one ever was
        self.tracer = None  # of trace.py, while a trace is being taken
        self.autocasts = False  # whether passes run under an autocast of precision.py


now = _Now()


def begin():
    """Wait for torch, where somebody wants to know and this Python is new enough."""
    now.off = sys.version_info < (3, 8) or not os.path.exists(os.environ.get("STOKER_HOOK_SOCKET", ""))
    if not now.off:
        part("guard")  # for `guarded`
        sys.meta_path.insert(0, follower)
        for name in list(follower.wanted):
            if name in sys.modules:
                _imported(sys.modules[name])


def guarded(work):
    """Make a function that never raises into the program, and does nothing once the hook is off."""

    def guarded(*args):
        if now.off:
            return None
        try:
            return work(*args)
        except Exception as error:
            guard = now.parts["guard"]
            # A handler of the user's may have been run by a signal that came while we were here: its exception is his.
            if guard.raised_by_signal_handler(error):
                raise
            guard.fail(error)
            return None

    return guarded


# ---------------------------------------------------------------------------------------------------------------------
# Imports of the program that we wait for.


class _Follower(object):
    """Notices the import of some modules, on whatever way, and lets the others find them."""

    def __init__(self, wanted):
        self.wanted = dict.fromkeys(wanted, True)

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                _follow(name, spec.loader)
                return spec
        return None


@guarded
def _follow(name, loader):
    """Have ourselves called when this loader has run this module; then leave no trace on it."""
    original = loader.exec_module

    def exec_module(module):
        original(module)
        if module.__name__ == name:
            _followed(module, loader, exec_module)

    loader.exec_module = exec_module


@guarded
def _followed(module, loader, ours):
    if vars(loader).get("exec_module") is ours:
        del loader.exec_module
    _imported(module)


@guarded
def _imported(module):
    if follower.wanted.pop(module.__name__, None):
        part("patches").patch(module)


follower = _Follower(WANTED)


@guarded
def watch(batches):
    """What stoker.watch gives, where somebody observes; None where we are off."""
    part("process").start()
    return part("inputs").watch(batches)


# ---------------------------------------------------------------------------------------------------------------------
# Parts.


def part(name):
    """Return NAME.py, another file of ours, loaded once: our folder is not on sys.path any more."""
    if name in now.parts:
        return now.parts[name]
    from importlib import util

    path = os.path.join(os.path.dirname(__file__), name + ".py")
    spec = util.spec_from_file_location(PACKAGE + "." + name, path)
    module = util.module_from_spec(spec)
    code = spec.loader.get_code(spec.name)
    exec(code, vars(module))
    now.ours.append(vars(module))
    now.parts[name] = module
    try:
        _keep_compiled(spec, code)
    except OSError:
        pass  # the next process compiles it again
    return module


def __getattr__(name):
    """A part by its name, for those that import it."""
    if name in PARTS:
        return part(name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def _keep_compiled(spec, code):
    """Write a .pyc of ours where Python was told not to (many container images do): to compile all of us costs 15 ms per process.

    Only into our own private folder.
    """
    cached = spec.cached
    if not sys.dont_write_bytecode or not cached or os.path.exists(cached):
        return
    folder = os.path.dirname(cached)
    if os.path.dirname(folder) == os.path.dirname(__file__):
        external, source = sys.modules["_frozen_importlib_external"], os.stat(spec.origin)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        external._write_atomic(cached, external._code_to_timestamp_pyc(code, int(source.st_mtime), source.st_size), 0o600)


# ---------------------------------------------------------------------------------------------------------------------
# Giving way.


def _give_way(code):
    """Undo what our import did, so that the sitecustomize is found that the program would have had without us."""
    folder = os.path.dirname(__file__)
    for path in (folder, os.environ.get("STOKER_HOOK_DIR", folder)):
        if path in sys.path:
            sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)
    me = sys.modules.pop("sitecustomize")
    if sys.modules.setdefault(PACKAGE, me) is me:
        try:
            asked = [os.environ.get("STOKER_" + name) for name in ("PLAN", "LIVE", "LOSSES")]
            if any(asked) and sys.version_info >= (3, 8):
                part("apply").begin(*asked)  # before ours: what it puts in place is what we time
            begin()
            if not now.off:
                _keep_compiled(__spec__, code)
        except Exception:
            pass  # `site` would print it


if __name__ == "sitecustomize":
    _give_way(sys._getframe().f_code)
    # The import system looks for the name once more, now without our folder. What it finds takes our place in
    # sys.modules; if it finds nothing, `site` gets the ImportError that it would have got without us.
    import sitecustomize  # noqa: F401
