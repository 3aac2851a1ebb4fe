"""The functions that replace torch's, and when. A part of the start-up hook.

The user's call is in plain sight, between the hook's.
"""

import os
import sys

from . import boundary, describe, device, guard, guarded, lend, now, part, process
from . import fetch as fetches


def _next_in_place_of(original):
    def __next__(self):
        step = boundary.ask(self)
        try:
            batch = original(self)
        except BaseException as error:
            boundary.end_of_data(step, error, self)
            raise
        boundary.got(step, batch)
        return batch

    return __next__


def _iter_in_place_of(original):
    def __iter__(self):
        begun = boundary.begin_iter(self)
        try:
            iterator = original(self)
        except BaseException as error:
            guard.hide_our_frames(error)
            raise
        boundary.begun(self, iterator, begun)
        return iterator

    return __iter__


def _init_in_place_of(original):
    def __init__(self, *args, **kwargs):
        boundary.note_call(self)
        original(self, *args, **kwargs)

    __init__.__wrapped__ = original  # inspect shows torch's arguments
    return __init__


def _fetch_in_place_of(original):
    def fetch(self, possibly_batched_index):
        now.turn[0] += 1
        started = None if now.turn[0] & now.turn[1] else fetches.begin_fetch()
        try:
            batch = original(self, possibly_batched_index)
        except BaseException as error:
            guard.hide_our_frames(error)
            raise
        if started is not None:
            fetches.end_fetch(self, started, possibly_batched_index)
        return batch

    return fetch


def _fetcher_in_place_of(original):
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        fetches.time_collate(self)

    return __init__


def _note_in_place_of(original):
    def _note(self, session, packet):
        original(self, session, packet)
        fetches.note_fed(packet)

    return _note


def _capture_begin_in_place_of(original):
    def capture_begin(self, *args, **kwargs):
        device.capture_begins(self)
        try:
            return original(self, *args, **kwargs)
        except BaseException:
            device.capture_failed(self)
            raise

    return capture_begin


def _capture_end_in_place_of(original):
    def capture_end(self, *args, **kwargs):
        try:
            return original(self, *args, **kwargs)
        finally:
            device.capture_ended(self)

    return capture_end


def _step_in_place_of(original):
    def step(self, *args, **kwargs):
        device.before_optimizer_step(self, args, kwargs)
        stepped = original(self, *args, **kwargs)
        device.after_optimizer_step(self, args, kwargs)
        return stepped

    return step


def _patch_dataloader(module):
    now.state.torch = torch = sys.modules["torch"]
    try:
        lend.put_in_place(replacements(torch, module))
    except (AttributeError, KeyError) as missing:
        raise LookupError("torch %s is not known: it has no %s" % (getattr(torch, "__version__", "?"), missing))


def replacements(torch, module):
    """Return the functions to replace. A missing one raises here, and not later in a step."""
    torch.is_grad_enabled, torch.is_autocast_enabled, torch._C.DisableTorchFunction, module._DatasetKind.Iterable
    fetch = module._utils.fetch
    made = ((module.DataLoader, "__init__", _init_in_place_of),) if "__init__" in vars(module.DataLoader) else ()
    return made + (
        (module._BaseDataLoaderIter, "__next__", _next_in_place_of),
        (module.DataLoader, "__iter__", _iter_in_place_of),
        (fetch._BaseDatasetFetcher, "__init__", _fetcher_in_place_of),
        (fetch._MapDatasetFetcher, "fetch", _fetch_in_place_of),
        (fetch._IterableDatasetFetcher, "fetch", _fetch_in_place_of),
    )


def _patch_stoker(module):
    now.state.torch = sys.modules["torch"]
    found = [
        (module._Batches, "__next__", _next_in_place_of),
        (module._Uploaded, "__next__", _next_in_place_of),
        (module.DataLoader, "_iterate", _iter_in_place_of),  # its __iter__ may also be torch's own
    ]
    if "_note" in vars(module.Feeder):  # without it the stages of a batch are not known, and that is all
        found.append((module.Feeder, "_note", _note_in_place_of))
    lend.put_in_place(found)


def _patch_optimizer(module):
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:  # else the launching thread stays unknown
        register(device.after_optimizer_step)
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    if before is not None:
        before(device.before_optimizer_step)


def _patch_fastai(module):
    lend.put_in_place(((module.Optimizer, "step", _step_in_place_of),))


def _patch_modules(module):
    for name in ("inside", "own"):
        part(name).patch_modules(module)
    if now.state.inside is None:
        now.state.look_inside()


def _joining_in_place_of(original):
    def init_process_group(*args, **kwargs):
        joined = original(*args, **kwargs)
        _joins()
        return joined

    return init_process_group


@guarded
def _joins():
    """The process is one of several ranks from here on. Its environment need not say so."""
    now.state.channel.put_first(part("describe").hello(now.state))


def _patch_ranks(module):
    lend.put_in_place(((module, "init_process_group", _joining_in_place_of),))


def _patch_jax(module):
    own = part("own")
    if now.state.inside is None:
        part("inside")
        now.state.look_inside()
    own.stay_out_of_tracebacks()
    lend.put_in_place(((module, "jit", own.jit_in_place_of),))


def _patch_save(module):
    name = "save" if module.__name__ == "torch.serialization" else "save_file"
    lend.put_in_place(((module, name, part("own").save_in_place_of),))


def _patch_autograd(module):
    part("inside").patch_autograd(module)


def _compiling_in_place_of(original):
    def install_callbacks(*args, **kwargs):
        _compiles()
        return original(*args, **kwargs)

    return install_callbacks


@guarded
def _compiles():
    """Before anything is compiled. In a sampled step as well: that step is not sent any more."""
    if now.state.inside is not None and not lend.compiled:
        lend.compiles()
        now.state.inside.give_up()


def _patch_compiler(module):
    handler = getattr(module, "CompilationCallbackHandler", None)
    if "install_callbacks" in getattr(handler, "__dict__", ()):
        lend.put_in_place(((handler, "install_callbacks", _compiling_in_place_of),))
    else:
        _compiles()  # an older torch does not say when


def _patch_old_compiler(module):
    if not os.path.exists(os.path.join(os.path.dirname(module.__file__), "callback.py")):
        _compiles()


def _patch_input(module):
    part("inputs").patch(module)


def _patch_server(module):
    part("serving").patch(module)


def _patch_engine(name):
    return lambda module: getattr(part("serving"), name)(module)


def _note_compiler(module):
    now.is_compiling = getattr(module, "is_compiling", None)


def _patch_graphs(module):
    graph = module.CUDAGraph
    lend.put_in_place(((graph, "capture_begin", _capture_begin_in_place_of), (graph, "capture_end", _capture_end_in_place_of)))


lend.beside.append(fetches.Collate.__call__)

# Of modules that programs of all kinds import: the hook wakes only once torch comes.
ANY_PROGRAM = {
    "http.server": _patch_engine("patch_http"),
    "aiohttp.web_protocol": _patch_engine("patch_aiohttp"),
    "aiohttp.web_ws": _patch_engine("patch_aiohttp_sockets"),
    "tornado.web": _patch_engine("patch_tornado"),
    "tornado.websocket": _patch_engine("patch_tornado_sockets"),
    "grpc": _patch_engine("patch_grpc_coroutines"),
    "grpc._server": _patch_engine("patch_grpc"),
    "uvicorn.protocols.websockets.websockets_impl": _patch_engine("patch_uvicorn_sockets"),
    "uvicorn.protocols.websockets.websockets_sansio_impl": _patch_engine("patch_uvicorn_sockets"),
    "uvicorn.protocols.websockets.wsproto_impl": _patch_engine("patch_uvicorn_sockets"),
    "websockets.asyncio.connection": _patch_engine("patch_websockets"),
    "waitress.channel": _patch_engine("patch_waitress"),
    "zmq.sugar.socket": _patch_engine("patch_zmq"),
    "gunicorn.workers.sync": _patch_engine("patch_gunicorn"),
    "gunicorn.workers.gthread": _patch_engine("patch_gunicorn"),
    "gunicorn.workers.base_async": _patch_engine("patch_gunicorn"),
    "ray.serve._private.replica": _patch_engine("patch_replica"),
}

# Actions once a module was imported.
PATCHES = {
    describe.TORCH: _patch_dataloader,
    describe.STOKER: _patch_stoker,
    "torch.optim.optimizer": _patch_optimizer,
    "torch.cuda.graphs": _patch_graphs,
    "torch.nn.modules.module": _patch_modules,
    "torch.autograd": _patch_autograd,
    "torch.distributed.distributed_c10d": _patch_ranks,
    "torch.serialization": _patch_save,
    "safetensors.torch": _patch_save,
    "fastai.optimizer": _patch_fastai,
    "jax": _patch_jax,
    "torch.compiler": _note_compiler,
    "torch._dynamo.callback": _patch_compiler,
    "torch._dynamo.convert_frame": _patch_old_compiler,
    "uvicorn.protocols.http.h11_impl": _patch_server,
    "uvicorn.protocols.http.httptools_impl": _patch_server,
    **ANY_PROGRAM,
    "vllm.v1.engine.core": _patch_engine("patch_engine"),
    "vllm.v1.worker.gpu_worker": _patch_engine("patch_worker"),
    "vllm.v1.core.sched.scheduler": _patch_engine("patch_scheduler"),
    "transformers.generation.continuous_batching.continuous_api": _patch_engine("patch_batching"),
    "transformers.generation.continuous_batching.offloading_manager": _patch_engine("patch_offloading"),
}


def patch(module):
    if module.__name__ not in ANY_PROGRAM:
        process.start()
    PATCHES.get(module.__name__, _patch_input)(module)
