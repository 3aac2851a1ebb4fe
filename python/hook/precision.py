"""Sets what changes a program's numbers, and writes down its losses. A part of the start-up hook, of apply.py; inert unless the plan has a "program", or STOKER_LOSSES names a file.

Purpose. TF32 is allowed when a module first trains. bf16: each outermost pass of a module that trains runs under torch.autocast, and what it
returns in bfloat16 is float32 again, so that a loss outside of the module is computed as before. Parameters, gradients and the optimizer stay float32.
The losses are the numbers on which backward() was called, of the first process that trains; those of a device are read some at a time.
Limits. Passes without gradients stay as they are, and a program with its own autocast, or another type of parameters. A module whose
first pass fails under autocast makes it once more without, with the random numbers and the buffers from before.
"""

import os
import sys

from _thread import _local

from . import describe, guard, now, voice

MOST = 200  # losses that are written down
TOGETHER = 50  # of a device: each reading blocks on it

_wanted = {}  # settings of the plan that were not set yet
_losses = None
_calls = []  # Module.__call__: torch's, and ours


def begin(program, losses):
    global _losses
    _wanted.update((change["setting"], change) for change in program)
    if losses and os.environ.get("RANK", "0") == "0":
        _losses = _Losses(losses)


def patch(torch):
    """torch was imported, all of it: replace what leads into a pass, and into backward."""
    import atexit

    if _losses is not None:
        torch.autograd.backward = _backward_in_place_of(torch.autograd.backward)
        atexit.register(_note, None)
    if _wanted:
        kind, own = torch.nn.Module, os.getpid()
        _calls[:] = kind.__call__, _call_in_place_of(torch, kind.__call__)
        kind.__call__ = _calls[1]
        atexit.register(lambda: os.getpid() == own and _unmet())


def _unmet():
    for name in _wanted:
        voice.say("%s is not set: no module was trained" % name)


# ---------------------------------------------------------------------------------------------------------------------
# Losses.


class _Losses(object):
    def __init__(self, path):
        self.path, self.pid = path, os.getpid()
        self.file, self.count, self.device = None, 0, []

    def note(self, loss):
        torch = sys.modules["torch"]
        if isinstance(loss, (tuple, list)) and len(loss) == 1:
            loss = loss[0]
        if self.count >= MOST or os.getpid() != self.pid or type(loss) is not torch.Tensor or loss.numel() != 1:
            return
        if loss.is_cuda and torch.cuda.is_current_stream_capturing():
            return  # it would be a part of the graph
        self.count += 1
        self.device.append(loss.detach().reshape(()).double().clone())
        if not loss.is_cuda or len(self.device) == TOGETHER or self.count == MOST:
            self.read()

    def read(self):
        torch, found, self.device = sys.modules["torch"], self.device, []
        if not found or os.getpid() != self.pid:
            return
        if found[0].is_cuda:
            torch.cuda.synchronize()  # each was copied on the stream on which it was made
        if self.file is None:
            self.file = open(self.path, "x")  # the first process that trains
        self.file.write("".join("%r\n" % loss for loss in torch.stack(found).tolist()))
        self.file.flush()


def _backward_in_place_of(original):
    def backward(*args, **kwargs):
        _note(args[0] if args else kwargs.get("tensors"))
        return original(*args, **kwargs)

    backward.__wrapped__ = original
    return backward


def _note(loss):
    """Write a loss down; None is the end."""
    global _losses
    try:
        if _losses is not None and loss is not None:
            _losses.note(loss)
        elif _losses is not None:
            _losses.read()
    except Exception as error:
        if guard.raised_by_signal_handler(error):
            raise
        _losses = None  # another process writes them, or there is no place


# ---------------------------------------------------------------------------------------------------------------------
# Passes.


def _call_in_place_of(torch, original):
    compiling = torch.compiler.is_compiling  # what traces us takes this for a constant, and sees the program's own call alone
    here, passed = _Here(), describe.ByObject()  # modules whose first pass ended

    def __call__(self, *args, **kwargs):
        if compiling() or here.inside:
            return original(self, *args, **kwargs)
        begun = _begins(torch, self, passed)
        if begun is None:
            return original(self, *args, **kwargs)
        cast, undo = begun
        here.inside = True
        try:
            with cast:
                made = original(self, *args, **kwargs)
            passed.put(self, True)
            return _plain(torch, made)
        except Exception as error:
            if undo is None or guard.raised_by_signal_handler(error):
                raise
            _leave("precision", "a pass fails under autocast: " + _describe(error))
        finally:
            here.inside = False
        undo()
        return original(self, *args, **kwargs)

    __call__.__wrapped__ = original
    return __call__


class _Here(_local):
    inside = False  # whether this thread is within a pass under the hook's autocast


def _begins(torch, module, passed):
    """The autocast for an outermost pass that trains, and what undoes its first; None where the pass is left as it is."""
    if not (_wanted or now.autocasts) or not torch.is_grad_enabled() or torch._C._current_graph_task_id() != -1:
        return None
    try:
        parameter = next((p for p in module.parameters() if p.requires_grad), None)
        if parameter is None or describe.worker_id() is not None:
            return None
        for name in list(_wanted):
            _setters[name](torch, parameter)
        if not now.autocasts and vars(torch.nn.Module)["__call__"] is _calls[1]:
            torch.nn.Module.__call__ = _calls[0]  # all is set that can be
        if not now.autocasts or torch.is_autocast_enabled(parameter.device.type):
            return None
        return torch.autocast(parameter.device.type, torch.bfloat16), None if passed.get(module) else _undo(torch, module)
    except Exception as error:  # another torch than we know
        if guard.raised_by_signal_handler(error):
            raise
        for name in list(_wanted) or ["precision"]:
            _leave(name, _describe(error))
        return None


def _describe(error):
    return "%s: %s" % (type(error).__name__, str(error).partition("\n")[0][:200])


def _leave(name, why):
    _wanted.pop(name, None)
    if name == "precision":
        now.autocasts = False
    voice.say("%s is left as it is: %s" % (name, why))


def _tf32(torch, _):
    precision = torch.get_float32_matmul_precision()
    if precision != "highest":
        return _leave("tf32", "torch.get_float32_matmul_precision() is %r" % precision)
    torch.set_float32_matmul_precision("high")
    del _wanted["tf32"]
    voice.say('tf32 False -> True: torch.set_float32_matmul_precision("high")')


def _bf16(torch, parameter):
    device = parameter.device.type
    if torch.is_autocast_enabled(device):
        return _leave("precision", "the program has an autocast of its own")
    if parameter.dtype != torch.float32 or device not in ("cuda", "cpu"):
        return _leave("precision", "parameters are %s on %s" % (str(parameter.dtype).rpartition(".")[2], device))
    now.autocasts = True
    del _wanted["precision"]
    voice.say("precision float32 -> bf16: passes that train run under torch.autocast(%r, torch.bfloat16)" % device)


_setters = {"tf32": _tf32, "precision": _bf16}


def _undo(torch, module):
    """What puts random numbers and buffers back to where they are now."""
    devices = torch.cuda.is_initialized()
    chance, more = torch.get_rng_state(), torch.cuda.get_rng_state_all() if devices else []
    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]

    def undo():
        torch.set_rng_state(chance)
        if devices:
            torch.cuda.set_rng_state_all(more)
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)

    return undo


def _plain(torch, made):
    """The result of a pass, with float32 instead of bfloat16."""
    kind = type(made)
    if kind is torch.Tensor:
        return made.float() if made.dtype == torch.bfloat16 else made
    if isinstance(made, dict):
        for name in list(made):
            made[name] = _plain(torch, made[name])
    elif kind is list:
        made[:] = [_plain(torch, one) for one in made]
    elif kind is tuple:
        return tuple([_plain(torch, one) for one in made])
    elif isinstance(made, tuple) and hasattr(kind, "_make"):
        return kind._make(_plain(torch, one) for one in made)
    return made
