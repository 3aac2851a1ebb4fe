"""The inside of a step: a part of the start-up hook, which is loaded once torch.nn is there.

Purpose. Of some steps, about four a second at most, it reads the clock whenever the launching thread goes from one part of
the step to another: input wait, copy in, forward (the outermost module), backward, optimizer, exchange; on the device's
own clock if it has one. And it counts the calls to the device meanwhile: copies, calls that wait for it, launches.
Limits. Functions are replaced for the length of a sampled step and put back at its end: other steps pay for no part of it.
In a program that compiles, only backward and the call of a compiled model are replaced: Dynamo would take other functions
for the program's, trace them and guard them. The forward of all else (a compiled function, model.compile()) counts as rest there.
Collectives that PyTorch starts within backward stay in backward. Launches are counted on the emulated device only: on a
CUDA device they take a trace. In a program that compiles, calls that wait and copies are not looked at.

Parts may nest: a closure runs forward and backward inside the optimizer's step. A mark says what begins at a time, so the time
between two marks belongs to one part alone, and nothing counts twice.
"""

import sys
from _thread import get_ident
from time import monotonic_ns

MS = 1000000  # ns
REST, INPUT, COPY, FORWARD, BACKWARD, OPTIMIZER, EXCHANGE = range(7)
NAMES = ("rest", "input", "copy", "forward", "backward", "optimizer", "exchange")
EVERY_NS = 250 * MS  # between two sampled steps, about
SHARE = 200  # times what one costs, at least: half a per cent
WINDOW_NS, MARK_NS, CALL_NS = 100000, 8000, 1000  # what a sampled step costs, about, and in it a mark and a call
WAIT_NS = 1 * MS  # of a wait for the device whose line is sent
MARKS = 512  # of a step; one with more is not told
PENDING = 64  # sampled steps that the device has not reached
FIRST_STEPS = 3  # are not sampled: programs import and compile there
SYNCS = ("item", "tolist", "cpu", "numpy", "nonzero", "__bool__", "__int__", "__float__")
COPIES = ("to", "cuda")
COLLECTIVES = (
    "all_reduce all_gather all_gather_into_tensor all_gather_object reduce_scatter reduce_scatter_tensor broadcast reduce "
    "all_to_all all_to_all_single gather scatter barrier"
).split()

from . import channel, describe, device, guarded, lend, now


class _Sample(object):
    """One step that is looked into. A mark is (part that begins, time, point on the device's clock or None)."""

    __slots__ = ("step", "ident", "tid", "marks", "stack", "seen", "lost", "device", "wrong", "calls", "counts", "replaced")


class Inside(object):
    """What this part knows in one process."""

    FORWARD = FORWARD

    def __init__(self, state):
        self.state = state
        self.sample = None
        self.pending = []
        self.due = self.sampled = 0
        self.worker = None  # native id of the thread that last passed a model or stepped an optimizer
        self.stepping = 0  # optimizers that are stepping, one inside of the other
        self.asked = 0  # how often a loader was asked

    def ask(self, step):
        """A loop asks for its next batch: the step before it ends, unless it is another loader that is asked within."""
        self.asked += 1
        self.stepping = 0  # an error may have left an optimizer in the midst of its step
        if self.sample is not None and self.sample.lost:
            self.drop()
        sample = self.sample
        if sample is not None and sample.tid == step.tid and sample.step.loader is not step.loader:
            self.turn(INPUT)
        elif sample is None or sample.tid == step.tid:
            self.boundary(step)

    def got(self):
        if self.sample is not None:
            self.turn_back(self.sample, INPUT)

    def end_of_data(self, step):
        """No batch came. The step of this loader, if it is one, continues beyond its loop."""
        if self.sample is not None and self.sample.step.loader is step.loader:
            self.drop()
        else:
            self.got()

    def boundary(self, step):
        """A step begins. Where one is being sampled, it ends."""
        t, sample = monotonic_ns(), self.sample
        if sample is not None:
            self.close(sample.step.loader is step.loader and sample.step.iter == step.iter and not step.first)
        self.read(step.tid)
        works_here = step.loader.number < 0 or self.worker in (None, step.tid)  # a server's passes may come from threads in turn
        if t >= self.due and step.loader.count >= FIRST_STEPS and len(self.pending) < PENDING and works_here:
            self.open(step, t)

    def open(self, step, t):
        begin = self.state.devices.point(t, step.tid, step.loader.number < 0)
        if type(begin) is str and begin != "no device":
            return
        sample = _Sample()
        sample.step, sample.tid, sample.ident = step, step.tid, get_ident()
        sample.device, sample.seen, sample.lost, sample.calls = type(begin) is not str, False, False, 0
        sample.wrong = None
        sample.stack = [INPUT] if step.loader.number >= 0 else []
        sample.marks = [(sample.stack[-1] if sample.stack else REST, t, begin)]
        sample.counts = _Counts()
        sample.replaced = _replacements(self.state, sample)
        self.sample = sample
        for replaced in sample.replaced:
            replaced.put()

    def close(self, whole):
        """The sampled step ends; it is sent only if it is a whole step."""
        sample, self.sample = self.sample, None
        for replaced in sample.replaced:
            replaced.take()
        if whole and not sample.lost:
            self.mark(sample, REST)
        cost = WINDOW_NS + sample.calls * CALL_NS + len(sample.marks) * MARK_NS
        # Golden sections: never in step with what a program does every so many steps.
        self.sampled += 1
        self.due = monotonic_ns() + max(SHARE * cost, int(EVERY_NS * (0.5 + self.sampled * 0.618034 % 1)))
        if not whole or sample.lost or not sample.seen:
            for _, _, point in sample.marks:
                self.state.devices.forget(point)
        elif sample.device:
            self.pending.append(sample)
        else:
            times = [t for _, t, _ in sample.marks]
            self.report(sample, [b - a for a, b in zip(times, times[1:])], "host")

    def put_back(self):
        """Put all functions back: in a forked child, and where the hook steps aside."""
        if self.sample is not None:
            for replaced in self.sample.replaced:
                replaced.take()

    def give_up(self):
        """From another thread, perhaps: the step that is being sampled cannot be told."""
        self.put_back()
        if self.sample is not None:
            self.sample.lost = True

    def drop(self):
        """The sample turns out to be no step."""
        if self.sample is not None:
            self.close(False)

    # Within a sampled step.

    def here(self):
        """The sampled step, if this is its thread."""
        sample = self.sample
        if sample is None or sample.lost or sample.ident != get_ident():
            return None
        sample.calls += 1
        return sample

    def turn(self, part):
        """Enter a part. None if that is no separate part, as within itself, within input or within backward."""
        sample = self.here()
        if sample is None:
            return None
        inside = sample.stack[-1] if sample.stack else REST
        # Transforms are modules as well: what runs while a batch is loaded is loading.
        if inside == part or inside == INPUT or (inside == BACKWARD and part != EXCHANGE) or not self.mark(sample, part):
            return None
        sample.stack.append(part)
        if FORWARD <= part <= OPTIMIZER:
            sample.seen, self.worker = True, sample.tid
        return sample

    def turn_back(self, sample, part):
        if sample is self.here() and part in sample.stack:
            while sample.stack.pop() != part:
                pass
            if sample.device and part == FORWARD and sample.step.loader.number < 0:
                self.note_launcher(sample)
            self.mark(sample, sample.stack[-1] if sample.stack else REST)

    def note_launcher(self, sample):
        """Whether another thread launched this pass. Now: the next pass may be another thread's."""
        point = sample.marks[0][2]
        sample.wrong = point.device.wrong_thread(point) is not None

    def never_mind(self, sample):
        """The part that was entered last does not count."""
        sample.stack.pop()
        self.state.devices.forget(sample.marks.pop()[2])

    def mark(self, sample, part):
        t = monotonic_ns()
        point = self.state.devices.point(t, sample.tid, sample.step.loader.number < 0) if sample.device else None
        sample.marks.append((part, t, point))
        sample.lost = len(sample.marks) >= MARKS or (sample.device and not device.comparable(sample.marks[0][2], point))
        return not sample.lost

    def optimizer_steps(self):
        self.stepping += 1
        self.turn(OPTIMIZER)

    def optimizer_stepped(self):
        self.stepping = max(0, self.stepping - 1)
        if self.sample is not None and self.stepping == 0:
            self.turn_back(self.sample, OPTIMIZER)

    # What was measured.

    def read(self, tid):
        """Tell the sampled steps of this thread, and passes of any, that the device has passed. It does not block."""
        while self.pending and (self.pending[0].tid == tid or self.pending[0].step.loader.number < 0) and self.has_passed(self.pending[0]):
            self.pending.pop(0)

    def has_passed(self, sample):
        devices, points = self.state.devices, [point for _, _, point in sample.marks]
        if not devices.lock.acquire(False):
            return False
        try:
            device = points[0].device
            if not device.has_passed(points[-1].event):
                return False
            if not (device.wrong_thread(points[0]) is not None if sample.wrong is None else sample.wrong):
                self.report(sample, [device.elapsed_ns(a.event, b.event) for a, b in zip(points, points[1:])], device.name)
            for point in points:
                device.give_back(point)
            return True
        finally:
            devices.lock.release()

    def report(self, sample, spans, clock):
        parts = [0] * len(NAMES)
        for (part, _, _), span in zip(sample.marks, spans):
            parts[part] += max(0, span)
        record = {"k": "inside", "loader": sample.step.loader.number, "n": sample.step.n, "clock": clock, "span": sum(parts)}
        record.update(zip(NAMES[1:], parts[1:]))
        record.update((name, getattr(sample.counts, name)) for name in _Counts.TOLD)
        if sample.counts.at is not None:
            record["at"] = sample.counts.at
        self.state.channel.put(channel.encode_record(record))


@guarded
def enter(part):
    return now.state.inside.turn(part)


# Guarded themselves: a function that is called during compilation must be one that Dynamo leaves alone.
@guarded
def _enter_forward(args, _):
    sample = now.state.inside.turn(FORWARD)
    if sample is not None and args:
        device.model_passed(args[0], sample.marks[-1][1], sample.tid)
    return sample


@guarded
def _enter_backward(*_):
    return now.state.inside.turn(BACKWARD)


@guarded
def leave(sample):
    # The depth tells which part was entered: a sample is entered and left in turn.
    if sample.stack:
        now.state.inside.turn_back(sample, sample.stack[-1])


# ---------------------------------------------------------------------------------------------------------------------
# The functions that are replaced while a step is sampled.

_swaps, _backward = [], []


def patch_modules(module):
    _swaps.append(lend.Swap(module.Module.__call__, _enter_forward, leave))


def patch_autograd(module):
    _swaps.append(lend.Swap(module.grad, _enter_backward, leave))
    _backward.append(lend.Swap(module.backward, _enter_backward, leave))


def _replacements(state, sample):
    if lend.compiled:
        return _backward + _find_compiled_calls()
    return _swaps + _backward + _exchanges() + _asks(state, sample)


def _through(function, part):
    def through(*args, **kwargs):
        sample = enter(part)
        try:
            return function(*args, **kwargs)
        finally:
            if sample is not None:
                leave(sample)

    through.__wrapped__ = function
    return through


def _find_compiled_calls():
    """What torch.compile made of a model is called from outside of all that Dynamo traces: where that meets one it takes the model itself."""
    wrapper = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
    call = getattr(wrapper, "__dict__", {}).get("__call__")
    if call is None:
        return []
    ours = _through(call, FORWARD)
    lend.keep_from_dynamo([ours])
    return [lend.Replace(wrapper, "__call__", ours)]


def _exchanges():
    """The collectives that a program with ranks calls in its own code."""
    module = sys.modules.get("torch.distributed")
    if module is None or not getattr(module, "is_initialized", bool)():
        return []
    found = [(name, vars(module).get(name)) for name in COLLECTIVES]
    return [lend.Replace(module, name, _through(function, EXCHANGE)) for name, function in found if function is not None]


# ---------------------------------------------------------------------------------------------------------------------
# What the program asks of the device.


class _Counts(object):
    """What was counted in one step, and the ns in it; None is unknown."""

    __slots__ = ("launches", "launching", "copies", "bytes", "pageable", "syncs", "waited", "longest", "at")
    TOLD = __slots__[:7]

    def __init__(self):
        for name in self.__slots__:
            setattr(self, name, None)
        self.longest = WAIT_NS

    def begin(self, names):
        for name in names:
            setattr(self, name, 0)

    def add_launch(self, ns):
        self.launches += 1
        self.launching += ns

    def add_copy(self, size, pinned):
        self.copies += 1
        self.bytes += size
        if pinned is None or self.pageable is None:
            self.pageable = None
        elif not pinned:
            self.pageable += size

    def add_sync(self, ns):
        self.syncs += 1
        self.waited += ns
        if ns > self.longest:
            self.longest = ns
            file, line = describe.users_line()
            self.at = None if file is None else "%s:%d" % (file, line)


def _asks(state, sample):
    """What to replace in order to count. Without a device there is nothing to ask of one."""
    if not sample.device:
        return []
    counts = sample.counts
    if sample.marks[0][2].device is state.devices.emulated:
        counts.begin(_Counts.TOLD)
        device = sys.modules["stoker.emulated"].Device
        calls = {"launch": _time_calls(device.launch, "add_launch"), "synchronize": _time_calls(device.synchronize, "add_sync"), "item": _time_calls(device.item, "add_sync")}
        calls["copy"] = _emulated_copy(device.copy)
        return [lend.Replace(device, name, call) for name, call in calls.items()]
    counts.begin(("copies", "bytes", "pageable", "syncs", "waited"))
    tensor, cuda = state.torch.Tensor, sys.modules["torch.cuda"]
    methods = {name: _sync(getattr(tensor, name)) for name in SYNCS}
    methods.update((name, _copy(getattr(tensor, name))) for name in COPIES)
    found = [lend.Replace(tensor, name, lend.Method(getattr(tensor, name), call)) for name, call in methods.items()]
    return found + [lend.Replace(cuda, "synchronize", _time_calls(cuda.synchronize, "add_sync"))]


@guarded
def _count(what, *values):
    sample = now.state.inside.here()
    if sample is not None:
        sample.seen = sample.seen or what == "add_launch"  # a step, also where no module and no optimizer is
        getattr(sample.counts, what)(*values)


def _time_calls(function, what):
    def timed(*args, **kwargs):
        t = monotonic_ns()
        try:
            return function(*args, **kwargs)
        finally:
            _count(what, monotonic_ns() - t)

    timed.__wrapped__ = function
    return timed


def _emulated_copy(function):
    through = _through(function, COPY)

    def copy(self, nbytes, pinned=False, non_blocking=None):
        _count("add_copy", nbytes, bool(pinned))
        return through(self, nbytes, pinned, non_blocking)

    return copy


def _sync(method):
    def sync(tensor, *args, **kwargs):
        waits = _lies(tensor) == "device"
        t = monotonic_ns()
        try:
            return method(tensor, *args, **kwargs)
        finally:
            if waits:
                _count("add_sync", monotonic_ns() - t)

    return sync


def _copy(method):
    def copy(tensor, *args, **kwargs):
        begun = _begin_copy(tensor)
        moved = None
        try:
            moved = method(tensor, *args, **kwargs)
            return moved
        finally:
            if begun is not None:
                _end_copy(begun, tensor, moved)

    return copy


@guarded
def _lies(tensor):
    """The place of a plain tensor, "host" or "device". No subclass or mode is asked."""
    state = now.state
    if state.inside.here() is None or type(tensor) not in (state.torch.Tensor, state.torch.nn.Parameter):
        return None
    with state.torch._C.DisableTorchFunction():
        kind = tensor.device.type
    return "host" if kind == "cpu" else None if kind == "meta" else "device"


@guarded
def _begin_copy(tensor):
    where = _lies(tensor)
    if where is None:
        return None
    return where, monotonic_ns(), now.state.inside.turn(COPY) if where == "host" else None


@guarded
def _end_copy(begun, tensor, moved):
    where, t, sample = begun
    state = now.state
    to = _lies(moved)
    if where == "device" and to == "host":
        _count("add_sync", monotonic_ns() - t)
    elif where == "host" and to == "device":
        with state.torch._C.DisableTorchFunction():
            _count("add_copy", describe.bytes_of(state.torch, tensor), describe.is_pinned(state, None, tensor))
    if sample is not None and sample is state.inside.sample:
        if to == "device":
            state.inside.turn_back(sample, COPY)
        else:
            state.inside.never_mind(sample)
