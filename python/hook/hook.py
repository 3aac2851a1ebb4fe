"""The start-up hook, for programs that it applies to. sitecustomize.py loads it.

Purpose. Once torch.utils.data.dataloader is imported, it times every iterator of a DataLoader, on the
host's clock and on the device's own, and reports to `stoker observe`. The same for stoker.DataLoader, once stoker.loader.dataloader
is imported.
Limits. It never imports torch, never initialises CUDA, never synchronises, starts no thread, draws no random
number, prints nothing, keeps no reference to a batch, and decides nothing: the reader judges.
Neighbours. python/hook (Go) carries these files, observe writes them to a private folder and reads the socket in the
words of protocol.txt; stoker.emulated is a device to test with.

This file is what the parts share. They are loaded when torch is there: guard, channel, padding, describe, device,
boundary, fetch, lend, process, patches; then split, inside, own, inputs, awaits, serving, trace, log, ending where they are needed, and apply, precision, live,
voice, state for `stoker tune`. A part says `from . import NAME`.

The user's program comes first:
  - Only our own code is guarded (`guarded`). The user's calls stand outside of every guard; KeyboardInterrupt passes.
  - The hook's first error sends one `warn` record and puts the original functions back.
At the exit of any Python, also of one without torch, ending.py names the exception that ended it.
"""

import atexit
import os
import sys

# Modules whose import it acts on; patches.py lists the functions that are replaced in each.
WANTED = (
    "torch.utils.data.dataloader",
    "stoker.loader.dataloader",
    "torch.optim.optimizer",
    "torch.cuda.graphs",
    "torch.distributed.distributed_c10d",
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
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.protocols.http.httptools_impl",
    "http.server",
    "aiohttp.web_protocol",
    "aiohttp.web_ws",
    "tornado.web",
    "tornado.websocket",
    "grpc",
    "grpc._server",
    "uvicorn.protocols.websockets.websockets_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvicorn.protocols.websockets.wsproto_impl",
    "websockets.asyncio.connection",
    "waitress.channel",
    "zmq.sugar.socket",
    "gunicorn.workers.sync",
    "gunicorn.workers.gthread",
    "gunicorn.workers.base_async",
    "ray.serve._private.replica",
    "vllm.v1.engine.core",
    "vllm.v1.worker.gpu_worker",
    "vllm.v1.core.sched.scheduler",
    "transformers.generation.continuous_batching.continuous_api",
    "transformers.generation.continuous_batching.offloading_manager",
)
PARTS = "guard channel classes padding describe device boundary fetch garbage process patches split inside own lend inputs awaits serving trace log ending apply precision live voice state".split()


class _Now(object):
    """What the hook knows in this process now. Of a process's loaders and records, `state` does."""

    def __init__(self):
        self.off = True  # until `begin`; and for good after an error of the hook, with no one to report to, at exit
        self.state = None  # of this process; a forked child gets its own
        self.imports = None, None  # file and line of the program that imported torch in this process
        self.patches = []  # (owner, name, original, ours)
        self.graves = []  # states of our parents: to free an event is to use the device, which a forked child must not
        self.is_compiling = None  # torch's function of that name
        self.turn = [0, 0]  # fetches so far; mask: those whose number has one of its bits are not timed
        self.ours = [globals()]  # of this file and of the parts that were loaded: how the hook's frames are recognised
        self.parts = {}  # those that were loaded, by name
        self.captures = set()  # ids of the CUDA graphs being captured now, in any thread
        self.captured = False  # whether one ever was
        self.tracer = None  # of trace.py, while a trace is being taken
        self.autocasts = False  # whether passes run under an autocast of precision.py


now = _Now()


def begin():
    """Wait for torch, where somebody wants to know."""
    now.off = not os.path.exists(os.environ.get("STOKER_HOOK_SOCKET", ""))
    if not now.off:
        part("guard")  # for `guarded`
        atexit.register(tell_ending)
        sys.meta_path.insert(0, follower)
        for name in list(follower.wanted):
            if name in sys.modules:
                _patch_imported(sys.modules[name])


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
    """Notices the import of some modules, by any finder, and lets the others find them."""

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
            _after_exec(module, loader, exec_module)

    loader.exec_module = exec_module


@guarded
def _after_exec(module, loader, ours):
    if vars(loader).get("exec_module") is ours:
        del loader.exec_module
    _patch_imported(module)


@guarded
def _patch_imported(module):
    if follower.wanted.pop(module.__name__, None):
        part("patches").patch(module)


follower = _Follower(WANTED)


@guarded
def tell_ending():
    """Python keeps the exception that it prints last: so no excepthook is replaced, and stderr stays the program's."""
    if getattr(sys, "last_value", None) is not None:
        part("ending").tell()


@guarded
def watch(batches):
    """What stoker.watch gives, where somebody observes; None where we are off."""
    part("process").start()
    return part("inputs").watch(batches)


# ---------------------------------------------------------------------------------------------------------------------
# Parts.


def part(name):
    """Return NAME.py, another file of the hook, loaded once: our folder is not on sys.path any more."""
    if name in now.parts:
        return now.parts[name]
    path = os.path.join(os.path.dirname(__file__), name + ".py")
    spec = sys.modules["_frozen_importlib_external"].spec_from_file_location(__name__ + "." + name, path)
    module = sys.modules["_frozen_importlib"].module_from_spec(spec)
    code = code_of(spec)
    exec(code, vars(module))
    now.ours.append(vars(module))
    now.parts[name] = module
    keep_compiled(spec, code)
    return module


def code_of(spec):
    """A file's code without the file's path: coverage would count it as the program's."""
    code = spec.loader.get_code(spec.name)
    sys.modules["_imp"]._fix_co_filename(code, "<stoker>/" + os.path.basename(spec.origin))
    return code


def __getattr__(name):
    """A part by its name, for those that import it."""
    if name in PARTS:
        return part(name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def keep_compiled(spec, code):
    """Write the hook's .pyc although Python is not to write any (many container images): compiling it costs 15 ms per process.

    Only into our own private folder.
    """
    cached = spec.cached
    if not sys.dont_write_bytecode or not cached or os.path.exists(cached):
        return
    folder = os.path.dirname(cached)
    if os.path.dirname(folder) != os.path.dirname(__file__):
        return
    external = sys.modules["_frozen_importlib_external"]
    try:
        source = os.stat(spec.origin)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        external._write_atomic(cached, external._code_to_timestamp_pyc(code, int(source.st_mtime), source.st_size), 0o600)
    except OSError:
        pass  # the next process compiles it again


def _start(code):
    asked = [os.environ.get("STOKER_" + name) for name in ("PLAN", "LIVE", "LOSSES")]
    if any(asked):
        part("apply").begin(*asked)  # before ours: the hook times the functions that it puts in place
    begin()
    if not now.off:
        keep_compiled(__spec__, code)


if __name__ == "_stoker_hook":
    _start(sys._getframe().f_code)
