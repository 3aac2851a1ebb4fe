"""The steps of a loop that no loader feeds: a part of the start-up hook, of inside.py.

What it does. A step is from one step of the optimizer to the next; where none steps and no loader is asked, from one pass of the
outermost module to the next: batch inference, requests. It tells evaluation (the model that trains is put into evaluation mode, and back) and
checkpoints (torch.save and its like) as what they are, so that nobody takes them for training.
What it does not. Where a loader is asked between two steps, its own steps are the loop's. Models that run only within a DataLoader's worker
are no loop.
"""

from _weakref import ref
from time import monotonic_ns

MS = 1000000  # ns
OWN = -1  # in place of a loader's number
CHECKPOINT_NS = 20 * MS  # what is saved in less stays in its step
BEATLESS = 64  # steps of other optimizers after which one of them is the loop's
TRIED, QUICK_NS = 500, 2 * MS  # passes after which those that come quicker in the mean are none of a loop: transforms of samples are modules, too

hook = hook  # noqa: F821 sitecustomize.py, put here before this runs
lend = hook._part("lend")


class Own(object):
    """The loop of one process, as far as no loader tells of it."""

    def __init__(self, state, inside):
        self.state, self.inside = state, inside
        self.loader = hook._Loader()
        self.loader.number, self.loader.count = OWN, 0
        self.open = None  # the step that goes on
        self.beat = None  # a weak reference to the optimizer whose steps count
        self.others = self.asked = self.since = 0
        self.evaluating = None  # (the model, since when, how often loaders had been asked)

    def optimizer_stepped(self, optimizer, t, tid):
        only_steps()
        beat = self.beat() if self.beat is not None else None
        if beat is not optimizer and beat is not None and self.others < BEATLESS:
            self.others += 1
            return
        if beat is not optimizer:
            self.beat = ref(optimizer)
        self.others = 0
        self.boundary(t, tid, True)

    def boundary(self, t, tid, grad):
        """A step begins. The one before ends with it, where no loader was asked since."""
        inside, last = self.inside, self.open
        fed = inside.asked != self.asked
        self.asked = inside.asked
        if inside.sample is not None and inside.sample.step is last and (fed or last.tid != tid):
            inside.drop()
        if last is not None and not fed:
            self.tell(last, t - last.t)
        self.open = step = hook._Step()
        step.loader, step.iter, step.t, step.tid, step.grad = self.loader, 0, t, tid, grad
        step.first, step.optimized = False, self.state.optimizer_steps
        if not fed:
            if hook._tracer is not None:
                hook._tracer.boundary(t)
            inside.boundary(step)
            self.state.after_step(t)

    def too_quick(self, t):
        if self.loader.count == 0:
            self.since = t
        return self.loader.count == TRIED and t - self.since < TRIED * QUICK_NS

    def tell(self, step, period, kind=""):
        step.n = self.loader.count
        self.loader.count += 1
        grad, optimized = "true" if step.grad else "false", self.state.optimizer_steps - step.optimized
        self.state.channel.put((hook._STEP, (OWN, 0, step.n, step.t, 0, period, kind, grad, step.tid, "null", optimized)))

    def phase(self, t, until, kind=""):
        """Tell of something that is no training step."""
        step = hook._Step()
        step.t, step.grad, step.tid, step.optimized = t, False, hook.native_id(), self.state.optimizer_steps
        self.tell(step, until - t, kind)

    def mode(self, model, trained):
        """A model was put into training or evaluation mode; whether it trained before."""
        t, trains = monotonic_ns(), vars(model).get("training")
        if trained and not trains and self.beat is not None:
            self.evaluating = ref(model), t, self.inside.asked
        elif trains and self.evaluating is not None and self.evaluating[0]() is model:
            _, since, asked = self.evaluating
            self.evaluating = None
            if asked == self.inside.asked:  # else its loader tells
                self.phase(since, t)


# ---------------------------------------------------------------------------------------------------------------------
# What is replaced for good, or until the loop is known.

_passing, _changing, _saving = [], [], []  # who is inside of a module's call, of train(), of a save
_passes = []


def patch_modules(module):
    _passes.append(lend.Swap(module.Module.__call__, _pass_begins, _pass_ends, _passing))
    lend.keep(_passes[0])
    lend.keep(lend.Swap(module.Module.train, _mode_changes, _mode_changed, _changing))


def only_steps():
    """A loader or an optimizer tells the steps: passes are none."""
    while _passes:
        lend.give_back(_passes.pop())


@hook._guarded
def _pass_begins(*_):
    state = hook._state
    if hook._worker_id() is not None:
        only_steps()
        return None
    _passing.append(1)
    t = monotonic_ns()
    state.own.boundary(t, hook.native_id(), state.torch.is_grad_enabled())
    if state.own.too_quick(t):
        only_steps()
    return (state.inside.turn(state.inside.FORWARD),)


@hook._guarded
def _pass_ends(mark):
    del _passing[:]
    if mark[0] is not None:
        hook._state.inside.turn_back(mark[0], hook._state.inside.FORWARD)


@hook._guarded
def _mode_changes(*args):
    if not args:
        return None
    _changing.append(1)
    return args[0], vars(args[0]).get("training")


@hook._guarded
def _mode_changed(mark):
    del _changing[:]
    hook._state.own.mode(*mark)


def save_in_place_of(original):
    def save(*args, **kwargs):
        begun = _save_begins()
        try:
            return original(*args, **kwargs)
        finally:
            if begun is not None:
                _saved(begun)

    save.__wrapped__ = original
    return save


@hook._guarded
def _save_begins():
    if _saving:
        return None
    _saving.append(1)
    return monotonic_ns()


@hook._guarded
def _saved(begun):
    del _saving[:]
    t = monotonic_ns()
    own = hook._state.own
    if own is not None and t - begun >= CHECKPOINT_NS and hook._worker_id() is None:
        own.phase(begun, t, ',"saved":true')


def forget():
    """In a forked child: whatever the parent was about, nobody is about it here."""
    del _passing[:], _changing[:], _saving[:]
