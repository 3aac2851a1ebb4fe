"""The input boundary: ask, got, end_of_data. A part of the start-up hook.

The rest of the hook's work is done in `got`, after the clocks were read.
"""

from _thread import get_native_id as native_id
from time import monotonic_ns

from . import channel, describe, device, guard, guarded, now

SECOND = channel.SECOND
READ_NS = 30 * channel.MS  # between two reads: reading several together costs a fraction, as the code stays in the caches
FIRST_BATCHES = 3  # described in full; after that one a second
GAP_NS = 1 * channel.MS  # between iter() and the first next(): more than that is work of the user's


class Loader(object):
    """What we know of one DataLoader. Holds nothing of the user's."""

    __slots__ = ("number", "iterations", "count", "described", "batch_size", "exact", "collates", "pin_memory", "reason", "reasoned", "anew", "mark", "changes")


class Step(object):
    """One ask. `a` and `b` are points on the device's clock, or the reason why there are none."""

    __slots__ = ("state", "loader", "track", "iter", "n", "t", "began", "waited", "first", "grad", "tid", "samples", "optimized", "a", "b", "ended", "ran")


class Iteration(object):
    """One pass over a loader; lives on the iterator, dies with it."""

    __slots__ = ("state", "loader", "number", "track", "begun", "__weakref__")


class Track(object):
    """The step of an iteration whose period is not known yet. Outlives the iteration: after a `break` the loop does not ask again."""

    __slots__ = ("open", "ended")


@guarded
def ask(iterator):
    t = monotonic_ns()
    state = now.state
    iteration = iterator.__dict__.get("_stoker")
    if iteration is None or iteration.state is not state:
        iteration = state.adopt(iterator, t)
    step = Step()
    step.state, step.loader, step.iter = state, iteration.loader, iteration.number
    step.tid = tid = native_id()
    step.grad = state.torch is None or state.torch.is_grad_enabled()
    step.waited, step.first, step.optimized = 0, False, state.optimizer_steps
    step.ended = iterator.__dict__.get("_workers_status")
    begun, iteration.begun = iteration.begun, None
    if begun is None:
        step.t, step.a = t, state.devices.point(t, tid)
    else:
        _ask_from_iter(step, begun, t)
    step.track = track = iteration.track
    last, track.open = track.open, None
    if last is not None:
        state.close(last, step.t - last.t, step.a)
    if state.inside is not None:
        state.inside.ask(step)
    step.began = monotonic_ns()  # so that our own work is not in the wait
    return step


def _ask_from_iter(step, begun, t):
    """The first ask of an iterator began at iter(): starting workers and filling the queue is waiting too."""
    started, waited, resumed, point, tid = begun
    step.first, step.t, step.waited, step.a = True, started, waited, point
    if t - resumed > GAP_NS:
        step.state.devices.forget(point)
        step.a = "work between iter() and next()"
    elif tid != step.tid:
        step.state.devices.forget(point)
        step.a = device.OTHER_THREAD


@guarded
def got(step, batch):
    if step is None:
        return
    t = monotonic_ns()
    state, loader = step.state, step.loader
    step.waited += t - step.began
    step.b = state.devices.point(t, step.tid) if type(step.a) is device.Point else None
    step.n = loader.count
    loader.count += 1
    step.samples = describe.samples_of(state.torch, loader, batch) if state.torch is not None else None
    step.track.open = step
    if state.inside is not None:
        state.inside.got()
    if t - state.devices.thread.read_at >= READ_NS:
        state.devices.read(state, t)
    if state.torch is not None and (step.n < FIRST_BATCHES or t - loader.described >= SECOND):
        loader.described = t
        describe.tell_batch(state, loader, batch, _count_ended(step))
    if now.tracer is not None:  # here and not in `ask`, which also comes at the end of an epoch
        now.tracer.boundary(t)
    state.after_step(t)


def _count_ended(step):
    """How many workers have no data left while others still give some; None without workers."""
    return step.ended.count(False) if type(step.ended) is list else None


@guarded
def end_of_data(step, error, iterator=None):
    """No batch: the end of the data, or an exception of the user's, which passes unchanged."""
    guard.hide_our_frames(error)
    if step is None:
        return
    state = step.state
    step.track.ended = True
    state.devices.forget(step.a)
    if state.inside is not None:
        state.inside.end_of_data(step)
    if type(error) is StopIteration:
        if state.own is not None:
            state.own.passed = step.began
        step.loader.mark = describe.mark_of(getattr(iterator, "__dict__", {}).get("_dataset"))
        state.devices.read(state, step.began)
        state.flush(monotonic_ns())


@guarded
def note_call(loader):
    describe.note_call(loader)


@guarded
def tell_again(loader, iterator):
    """Settings were set and taken back (apply.py): those that were told are not in use."""
    known = now.state.loaders.get(loader) if now.state is not None else None
    if known is not None:
        told = {name: value for name, value in describe.settings_of(loader, iterator).items() if name not in ("collates", "exact")}
        now.state.channel.put_first(dict(told, k="loader", loader=known.number, t=monotonic_ns()))


@guarded
def begin_iter(loader):
    _look_for_changes(loader)
    t, tid = monotonic_ns(), native_id()
    if now.state.own is not None:
        now.state.own.only_steps()
    return t, now.state.devices.point(t, tid), tid


def _look_for_changes(loader):
    """Tell where the program changed the data set since the last epoch ended."""
    known = now.state.loaders.get(loader)
    if known is not None and known.mark is not None and known.mark != describe.mark_of(vars(loader).get("dataset")):
        now.state.tell_changes(known)


@guarded
def begun(loader, iterator, begun):
    if begun is None:
        return
    t, state = monotonic_ns(), now.state
    if not isinstance(iterator, describe.iterators_of(describe.TORCH)) and not isinstance(iterator, describe.iterators_of(describe.STOKER)):
        return
    started, point, tid = begun
    waited = t - started
    known = state.loaders.get(loader)
    if known is None:
        known = state.meet(loader, iterator, started)
    iteration = state.iterate(known, iterator)
    state.channel.put('{"k":"iter","loader":%d,"iter":%d,"t":%d,"dt":%d}' % (known.number, iteration.number, started, waited))
    state.sweep()
    state.after_step(t)
    iteration.begun = (started, waited, monotonic_ns(), point, tid)
