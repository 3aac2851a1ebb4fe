"""The steps of a loop that no loader feeds: a part of the start-up hook, of inside.py.

Purpose. A step is from one step of the optimizer to the next; if none steps and no loader is asked, from one pass of the
outermost module that has parameters to its next: batch inference, requests. In JAX it is from one call of a compiled function
to its next. It sends evaluation (the model that trains is put into evaluation mode, and back) and checkpoints
(torch.save and its like) under their own names, so that they do not count as training.
Limits. If a loader is asked between two steps, its own steps are the loop's. Models that run only within a DataLoader's worker
are no loop.
"""

import sys
from _operator import itemgetter
from _weakref import ref
from time import monotonic_ns
from types import MethodType

MS = 1000000  # ns
OWN = -1  # instead of a loader's number
CHECKPOINT_NS = 20 * MS  # a shorter save stays in its step
BEATLESS = 64  # turns of other optimizers, or models, after which one of them is the loop's
TRIED, QUICK_NS = 500, 2 * MS  # passes after which those that come quicker in the mean are none of a loop: transforms of samples are modules, too

from _thread import get_native_id as native_id

from . import boundary, channel, describe, device, guarded, lend, now


class Beat(object):
    """Of several optimizers, or models, the one whose turns are steps: the first that came, or one that has taken its place."""

    def __init__(self):
        self.one, self.others = None, 0  # a weak reference; how often others came since it did

    def comes(self, one):
        """Whether it is this one's turn."""
        beat = self.one() if self.one is not None else None
        if beat is not one and beat is not None and self.others < BEATLESS:
            self.others += 1
            return False
        if beat is not one:
            self.one = ref(one)
        self.others = 0
        return True


class Pieces(object):
    """Passes in turn over samples that are parts of one tensor, which did not change meanwhile: one pass may take them all."""

    def __init__(self):
        self.model = self.base = None  # weak references
        self.version = self.at = 0

    def goes_on(self, model, part):
        """Whether this pass takes another part of the tensor that the pass before had a part of. Of inference mode's own tensors that is not known."""
        base = part._base
        if base is None or base.is_inference() or not is_sample(part, base):
            self.base = None
            return False
        version, at = base._version, part.data_ptr()
        same = self.base is not None and self.base() is base and self.model() is model and (self.version, self.at != at) == (version, True)
        self.model, self.base, self.version, self.at = ref(model), ref(base), version, at
        return same


def is_sample(part, base):
    """Whether a batch of one was cut out of a tensor: a new dimension was put before it, or it is a row. A column is a step in time."""
    shape = part.shape
    return len(shape) > 0 and shape[0] == 1 and (len(shape) == len(base.shape) + 1 or shape[1:] == base.shape[1:])


class Own(object):
    """The loop of one process, as far as no loader tells of it."""

    def __init__(self, state, inside):
        self.state, self.inside = state, inside
        self.loader = boundary.Loader()
        self.loader.number, self.loader.count = OWN, 0
        self.open = None  # the step under way
        self.optimizer, self.model = Beat(), Beat()
        self.pieces = Pieces()
        self.asked = self.since = self.passes = 0
        self.evaluating = None  # (the model, since when, how often loaders had been asked, and how often optimizers had stepped)
        self.passed = 0  # when a pass over a loader ended

    def beats(self, optimizer, t, tid):
        """An optimizer stepped, or a compiled function of JAX was called again."""
        self.only_steps()
        if self.optimizer.comes(optimizer):
            self.boundary(t, tid, True)

    def only_steps(self):
        """A loader or an optimizer tells the steps: passes are none."""
        while _passes:
            lend.give_back(_passes.pop())

    def passes_by(self, module, t, tid):
        """The outermost module was called: a step, if it is the loop's model. Return that step, else None."""
        model = self.model
        if model.one is not None and model.one() is module:  # as nearly always
            model.others = 0
        elif not learns(module) or not model.comes(module):
            return None
        return self.boundary(t, tid, self.state.torch.is_grad_enabled())

    def boundary(self, t, tid, grad):
        """A step begins. The one before ends with it, where no loader was asked since. Return the new one."""
        inside, last = self.inside, self.open
        fed = inside.asked != self.asked
        self.asked = inside.asked
        if inside.sample is not None and inside.sample.step is last and (fed or last.tid != tid and inside.sample.stack):
            inside.drop()  # or that thread is still in the midst of its pass
        if last is not None and not fed:
            self.tell(last, t - last.t)
        self.open = step = boundary.Step()
        step.loader, step.iter, step.t, step.tid, step.grad = self.loader, 0, t, tid, grad
        step.first, step.optimized = False, self.state.optimizer_steps
        step.ran = step.samples = None
        if not fed:
            if now.tracer is not None:
                now.tracer.boundary(t)
            inside.boundary(step)
            self.state.after_step(t)
        return step

    def too_quick(self, t):
        if self.loader.count == 0:  # until a model is seen, what passes by is counted
            self.since, self.passes = (self.since, self.passes + 1) if self.passes else (t, 1)
        return max(self.loader.count, self.passes - 1) == TRIED and t - self.since < TRIED * QUICK_NS

    def tell(self, step, period, kind=""):
        step.n = self.loader.count
        self.loader.count += 1
        grad, optimized = "true" if step.grad else "false", self.state.optimizer_steps - step.optimized
        samples = "null" if step.samples is None else step.samples
        if step.ran is not None:
            kind += ',"ran":%d' % step.ran
        self.state.channel.put((channel.STEP, (OWN, 0, step.n, step.t, 0, period, kind, grad, step.tid, samples, optimized)))

    def phase(self, t, until, kind=""):
        """Tell of something that is no training step."""
        step = boundary.Step()
        step.t, step.grad, step.tid, step.optimized = t, False, native_id(), self.state.optimizer_steps
        step.ran = step.samples = None
        self.tell(step, until - t, kind)

    def mode(self, model, trained):
        """A model was put into training or evaluation mode; whether it trained before."""
        t, trains = monotonic_ns(), vars(model).get("training")
        if trained and not trains and self.optimizer.one is not None:
            self.evaluating = ref(model), t, self.inside.asked, self.state.optimizer_steps
        elif trains and self.evaluating is not None and self.evaluating[0]() is model:
            _, since, asked, stepped = self.evaluating
            self.evaluating = None
            if asked == self.inside.asked:
                self.phase(since, t)
            elif stepped == self.state.optimizer_steps and since < self.passed < t - CHECKPOINT_NS:  # its loader tells of what was before
                self.phase(self.passed, t)


# ---------------------------------------------------------------------------------------------------------------------
# The functions that are replaced for good, or until the loop is known.

_passing, _changing, _saving = [], [], []  # who is inside of a module's call, of train(), of a save
_passes = []


def patch_modules(module):
    _passes.append(lend.Swap(module.Module.__call__, _pass_begins, _pass_ends, _passing))
    lend.keep(_passes[0])
    lend.keep(lend.Swap(module.Module.train, _mode_changes, _mode_changed, _changing))


@guarded
def _pass_begins(args, kwargs):
    state = now.state
    own, inside = state.own, state.inside
    if describe.worker_id() is not None:
        own.only_steps()
        return None
    _passing.append(1)
    t, tid = monotonic_ns(), native_id()
    begun = None
    if args:
        begun = own.passes_by(args[0], t, tid)
        if begun is not None:
            begun.samples = count_samples(state.torch, args, kwargs)
        if t - state.optimized >= channel.SECOND:
            device.model_passed(args[0], t, tid)
    if state.requests is not None:
        if len(args) == 2 and not kwargs and type(args[1]) is state.torch.Tensor:  # no state goes from pass to pass
            with state.torch._C.DisableTorchFunction():
                state.requests.pieces += own.pieces.goes_on(args[0], args[1])
    elif own.too_quick(t):  # a server's model may be as quick
        own.only_steps()
    return (None if inside.sample is None else inside.turn(inside.FORWARD)), begun


@guarded
def _pass_ends(mark):
    del _passing[:]
    sample, begun = mark
    if begun is not None:
        begun.ran = monotonic_ns() - begun.t
    if sample is not None:
        now.state.inside.turn_back(sample, now.state.inside.FORWARD)


@guarded
def _mode_changes(args, _):
    if not args:
        return None
    _changing.append(1)
    return args[0], vars(args[0]).get("training")


@guarded
def _mode_changed(mark):
    del _changing[:]
    now.state.own.mode(*mark)


def learns(module):
    """Whether a module has parameters or buffers: a loss or a transform has none, and is no model. Nothing of the user's runs."""
    left = [module]
    while left:
        found = vars(left.pop())
        if "_parameters" not in found:  # as of scripted modules: who knows
            return True
        if any(one is not None for kept in ("_parameters", "_buffers") for one in found.get(kept, {}).values()):
            return True
        left.extend(one for one in found.get("_modules", {}).values() if one is not None)
    return False


def count_samples(torch, args, kwargs):
    """How many samples a pass has: the first dimension of its first tensor. None if unknown, as of packed sequences."""
    if "cu_seq_lens_q" in kwargs or torch._C._get_tracing_state() is not None:  # jit.trace gives tensors, not numbers
        return None
    for value in [*args[1:], *kwargs.values()]:
        if type(value) is torch.Tensor:
            with torch._C.DisableTorchFunction():
                return value.shape[0] if len(value.shape) > 0 else None
        if type(value) is list and value and type(value[0]) is torch.Tensor:
            return len(value)
    return None


def save_in_place_of(original):
    def save(*args, **kwargs):
        begun = _save_begins()
        try:
            return original(*args, **kwargs)
        finally:
            if begun is not None:
                _end_save(begun)

    save.__wrapped__ = original
    return save


@guarded
def _save_begins():
    if _saving:
        return None
    _saving.append(1)
    return monotonic_ns()


@guarded
def _end_save(begun):
    del _saving[:]
    t = monotonic_ns()
    own = now.state.own
    if own is not None and t - begun >= CHECKPOINT_NS and describe.worker_id() is None:
        own.phase(begun, t, ',"saved":true')


# ---------------------------------------------------------------------------------------------------------------------
# JAX. What jax.jit makes is called from C++, past all of Python; so the program gets a thing around it.

_calling = []  # threads inside of such a call: its callees are being traced


class _Jitted(object):
    """Replaces the function that jax.jit made, with all its attributes."""

    def __init__(self, made):
        self.__dict__.update(vars(made))
        self.__dict__.update((name, getattr(made, name)) for name in dir(type(made)) if not name.startswith("__"))
        self._stoker_made, self._stoker_calls = made, 0

    def __call__(self, *args, **kwargs):
        if _calling or now.off:
            return self._stoker_made(*args, **kwargs)
        _calls(self)
        try:
            return self._stoker_made(*args, **kwargs)
        finally:
            del _calling[:]

    def __get__(self, thing, kind=None):
        return self if thing is None else MethodType(self, thing)

    def __repr__(self):
        return repr(self._stoker_made)

    def __reduce__(self):
        return itemgetter(0), ((self._stoker_made,),)  # elsewhere it is unchanged


@guarded
def _calls(jitted):
    _calling.append(1)
    jitted._stoker_calls += 1
    if jitted._stoker_calls == 1 or describe.worker_id() is not None:
        return  # made for one call: the start
    state, t, tid = now.state, monotonic_ns(), native_id()
    state.own.beats(jitted, t, tid)
    if t - state.optimized >= channel.SECOND:
        state.optimized = t
        device = sys.modules["jax"].default_backend()
        state.channel.put(channel.encode_record({"k": "optim", "tid": tid, "device": "cuda" if device == "gpu" else device, "dtype": None, "steps": 0, "framework": "JAX"}))


def stay_out_of_tracebacks():
    """JAX keeps the program's line of each operation, and shows the program's frames alone: ours are none of them."""
    for name in ("jax._src.source_info_util", "jax._src.traceback_util"):
        getattr(sys.modules.get(name), "register_exclusion", str)(__file__)


def jit_in_place_of(original):
    def jit(*args, **kwargs):
        made = original(*args, **kwargs)
        if type(made).__name__ == "PjitFunction":
            return _Jitted(made)
        return made if args else lambda function: jit(function, **kwargs)  # asked for its keywords first

    return jit


def forget():
    """In a forked child: the parent's calls are not under way here."""
    del _passing[:], _changing[:], _saving[:], _calling[:]
