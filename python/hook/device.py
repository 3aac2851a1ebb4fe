"""The device's own clock: points on it, pairs of them, CUDA and the emulated device; captures; what an optimizer's step tells. A part of the start-up hook.

  host    ask_n ....... got_n   step   ask_n+1 ....... got_n+1
  queue     A             B    kernels    A'              B'
  device  A to B is idle that the wait caused, about 0 while queued work covers it; A to A' is the period.

A point is an event on the stream that the asking thread uses. Points are made, asked and read in that thread only.
"""

import sys
from _collections import deque
from _thread import _local, allocate_lock
from _thread import get_native_id as native_id
from _weakref import ref
from time import monotonic_ns

from . import channel, guarded, now

MS, SECOND, FLUSH_NS = channel.MS, channel.SECOND, channel.FLUSH_NS
PENDING_PAIRS = 4096  # CUDA's own queue holds about 1,000 launches, so a full list means a broken device
POLLED_PAIRS = 256  # at a time; fewer come in between two reads, so the list shrinks
OTHER_THREAD = "asked by another thread than the one that launches"


class Point(object):
    __slots__ = ("device", "index", "stream", "event", "tid", "pairs")


class _Pair(object):
    """Events to read: B after A, and the next A if it was recorded. A pair without n only gives its events back."""

    __slots__ = ("loader", "n", "a", "b", "end")


class _PairsOfThread(_local):
    """Pairs in the order in which their last events were recorded, per asking thread."""

    def __init__(self):
        self.pending = deque()
        self.read_at = 0


class Devices(object):
    def __init__(self):
        self.thread = _PairsOfThread()
        self.cuda = _Cuda()
        self.emulated = _Emulated()
        # In use by one thread at a time. No thread blocks on it here; a capture that begins blocks until we are done (`capture_begins`).
        self.lock = allocate_lock()

    def point(self, t, tid, before=False):
        """Record a point on the device's clock, or say why not. `before`: the thread has not launched yet, perhaps."""
        if not self.lock.acquire(False):
            return "asked by two threads at once"
        try:
            pending = self.thread.pending
            if len(pending) >= PENDING_PAIRS:
                return "pool exhausted"
            emulated = self.emulated.present(t)
            found = self.emulated.record(tid, before) if emulated else self.cuda.record(t, tid)
            if type(found) is str:
                return found
            point = Point()
            point.index, point.stream, point.event = found
            point.device = self.emulated if emulated else self.cuda
            point.tid, point.pairs = tid, pending
            return point
        finally:
            self.lock.release()

    def close(self, state, step, end):
        """Hand the pair of a step over for reading. `end` is the next A, of whoever asked."""
        a, b = step.a, step.b
        if type(a) is not Point:
            self.explain(state, step.loader, step.n, a)
            return
        if not comparable(a, b):
            self.explain(state, step.loader, step.n, b if type(b) is str else "side stream")
            self.forget(b)
            b = None
        pair = _Pair()
        pair.loader, pair.n, pair.a, pair.b = step.loader, step.n, a, b
        pair.end = end if comparable(a, end) else None
        a.pairs.append(pair)

    def forget(self, point):
        """A point without a pair. It may be the end of the pair before it, so its event goes back after that one."""
        if type(point) is Point:
            pair = _Pair()
            pair.loader, pair.n, pair.a, pair.b, pair.end = None, None, point, None, None
            point.pairs.append(pair)

    def read(self, state, t, len_limit=POLLED_PAIRS):
        """Read the oldest pairs of this thread as far as the device got. It does not block."""
        pending = self.thread.pending
        self.thread.read_at = t
        if not pending or not self.lock.acquire(False):
            return
        try:
            for _ in range(min(len_limit, len(pending))):
                pair = pending[0]
                last = pair.end or pair.b or pair.a
                if not last.device.has_passed(last.event):
                    return
                pending.popleft()
                if pair.b is not None:
                    self.report(state, pair)
                    pair.b.device.give_back(pair.b)
                pair.a.device.give_back(pair.a)
        finally:
            self.lock.release()

    def report(self, state, pair):
        a = pair.a
        reason = a.device.wrong_thread(a)
        if reason:
            self.explain(state, pair.loader, pair.n, reason)
            return
        idle = a.device.elapsed_ns(a.event, pair.b.event)
        period = a.device.elapsed_ns(a.event, pair.end.event) if pair.end is not None else 0
        pair.loader.reason = None
        state.channel.put((channel.CLOCK, (pair.loader.number, pair.n, idle, period, a.device.name, a.index)))

    def explain(self, state, loader, n, reason):
        t = monotonic_ns()
        if reason != loader.reason or t - loader.reasoned >= SECOND:
            loader.reason, loader.reasoned = reason, t
            launcher = (self.emulated.launcher() or self.cuda.launcher()) if reason == OTHER_THREAD else None
            told = "" if launcher is None else ',"tid":%d' % launcher
            state.channel.put('{"k":"clock","loader":%d,"n":%d,"x":"%s"%s}' % (loader.number, n, reason, told))

    def report_memory(self, state):
        if self.lock.acquire(False):
            try:
                for record in self.cuda.memory():
                    state.channel.put(channel.encode_record(record))
            finally:
                self.lock.release()


def comparable(a, b):
    return type(b) is Point and b.device is a.device and b.stream == a.stream and b.index == a.index and b.tid == a.tid


class _Cuda(object):
    """torch.cuda, once the program has initialised it. Also AMD's, which goes by the same names."""

    name = "cuda"

    def __init__(self):
        self.launchers = {}  # native thread id: (raw stream, when), from optimizer steps of the last seconds
        self.used = ()  # devices on which this process holds memory
        self.surveyed = 0
        self.free = {}  # device: events not in use
        self.streams = {}  # (device, raw stream): torch's object for it

    def record(self, t, tid):
        """Return (device, stream, event recorded there), or the reason why not."""
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not cuda.is_initialized():
            return "no device"
        if now.captures or cuda.is_current_stream_capturing():
            return "graph capture"
        if t - self.surveyed >= (SECOND if self.used else 50 * MS):
            self.surveyed = t
            self.survey(cuda, t)
        if len(self.used) != 1:
            return "several devices" if self.used else "no device"
        # Not the current device: a program may compute on cuda:1 and never say so. To record on a device
        # that the program does not use would make a context there, which costs hundreds of megabytes.
        index = self.used[0]
        stream = _raw_stream(cuda, index)
        return self.wrong(tid, stream) or (index, stream, self.record_event(cuda, index, stream))

    def record_event(self, cuda, index, raw_stream):
        free = self.free.setdefault(index, [])
        event = free.pop() if free else cuda.Event(enable_timing=True)
        stream = self.streams.get((index, raw_stream))
        if stream is None:
            stream = cuda.current_stream(index)
            if len(self.streams) < 64:
                self.streams[index, raw_stream] = stream
        event.record(stream)
        return event

    def wrong(self, tid, stream):
        if not self.launchers:
            return None
        known = self.launchers.get(tid)
        if known is None or len(self.launchers) > 1:
            return OTHER_THREAD
        return None if known[0] == stream else "side stream"

    def wrong_thread(self, point):
        return self.wrong(point.tid, point.stream)

    def launcher(self):
        """The thread that launches; None if unknown, or if several do."""
        known = list(self.launchers)
        return known[0] if len(known) == 1 else None

    def survey(self, cuda, t):
        self.used = tuple(index for index in range(cuda.device_count()) if _holds_memory(cuda, index))
        for tid, (_, stepped) in list(self.launchers.items()):
            if t - stepped > 10 * SECOND:
                self.launchers.pop(tid, None)

    def note_launch(self, tid, index, t):
        """An optimizer stepped: this thread launches, on this stream. Not where a capture only writes it down."""
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not cuda.is_initialized() or now.captures or cuda.is_current_stream_capturing():
            return
        self.launchers[tid] = (_raw_stream(cuda, index), t)

    def has_passed(self, event):
        # During a capture in any thread even a query is forbidden: it would break the capture.
        cuda = sys.modules["torch.cuda"]
        return not now.captures and not cuda.is_current_stream_capturing() and event.query()

    def elapsed_ns(self, a, b):
        return int(a.elapsed_time(b) * MS)

    def give_back(self, point):
        self.free.setdefault(point.index, []).append(point.event)

    def memory(self):
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not self.used or not cuda.is_initialized() or now.captures:
            return
        for index in self.used:
            try:
                stats = cuda.memory_stats_as_nested_dict(index)
                allocated, reserved = (stats[key]["all"]["peak"] for key in ("allocated_bytes", "reserved_bytes"))
            except (KeyError, RuntimeError):  # an allocator of the user's keeps no books
                continue
            asked = stats.get("num_device_alloc")  # PyTorch 2.2 and later
            yield {"k": "memory", "dev": index, "allocated": allocated, "reserved": reserved, "asked": asked}


def _raw_stream(cuda, index):
    get = getattr(sys.modules["torch"]._C, "_cuda_getCurrentRawStream", None)
    return get(index) if get is not None else cuda.current_stream(index).cuda_stream


def _holds_memory(cuda, index):
    try:
        return cuda.memory_stats_as_nested_dict(index)["reserved_bytes"]["all"]["current"] > 0
    except (KeyError, RuntimeError):  # an allocator of the user's keeps no books; a context is the next best sign
        return sys.modules["torch"]._C._cuda_hasPrimaryContext(index)


class _Emulated(object):
    """stoker.emulated. Its events are made recorded, and cost nothing to keep."""

    name = "emulated"

    def __init__(self):
        self.found = ()  # weak references to the devices of this process
        self.asked = 0

    def present(self, t):
        if t - self.asked >= FLUSH_NS:
            self.asked = t
            current = getattr(sys.modules.get("stoker.emulated"), "current", None)
            self.found = tuple(ref(device) for device in current()) if current is not None else ()
        return self.found

    def record(self, tid, before):
        if len(self.found) > 1:
            return "several devices"
        device = self.found[0]()
        if device is None:
            return "no device"
        if not before and device.launch_thread not in (None, tid):
            return OTHER_THREAD
        return device.index, 0, device.event()

    def launcher(self):
        device = self.found[0]() if len(self.found) == 1 else None
        return None if device is None else device.launch_thread

    def wrong_thread(self, point):
        for device in self.found:
            device = device()
            if device is not None and device.index == point.index and device.launch_thread not in (None, point.tid):
                return OTHER_THREAD
        return None

    def has_passed(self, event):
        return event.query()

    def elapsed_ns(self, a, b):
        return int(round(a.elapsed(b) * SECOND))

    def give_back(self, point):
        pass


@guarded
def capture_begins(graph):
    # Pairs with `Devices.lock`: once the id is in the set no thread of the program is inside one of the hook's device calls.
    # The wait is bounded, because a signal handler may begin a capture on top of our own frames.
    held = now.state.devices.lock.acquire(True, 0.01)
    now.captures.add(id(graph))
    now.captured = True
    if held:
        now.state.devices.lock.release()


@guarded
def capture_failed(graph):
    # Only if it did not begin: a hook of the user's may have raised while the capture continues.
    if not sys.modules["torch.cuda"].is_current_stream_capturing():
        now.captures.discard(id(graph))


@guarded
def capture_ended(graph):
    now.captures.discard(id(graph))
    # Steps before a capture warm up on a separate stream. Later steps replay the graph on another, and step no optimizer that would say so.
    now.state.devices.cuda.launchers.clear()


@guarded
def _optimizer_stepped(optimizer):
    state, t, tid = now.state, monotonic_ns(), native_id()
    state.optimizer_steps += 1
    if now.captures:
        state.replays = True
    if state.inside is not None:
        state.inside.optimizer_stepped()
        if not state.inside.stepping:
            state.own.beats(optimizer, t, tid)
    known = state.optimizers.get(optimizer)
    if known is None:
        known = _first_parameter(state.torch, optimizer)
        state.optimizers.put(optimizer, known)
    device, dtype, index = known
    if index is not None:
        state.devices.cuda.note_launch(tid, index, t)
    if t - state.optimized >= SECOND:
        state.optimized = t
        state.channel.put(channel.encode_record({"k": "optim", "tid": tid, "device": device, "dtype": dtype, "steps": state.optimizer_steps}))
        if t - state.channel.flushed >= FLUSH_NS:  # a loop over no DataLoader: no other part sends, and a signal may end it
            state.channel.flush(state, t)


@guarded
def _optimizer_steps():
    if now.state.inside is not None:
        now.state.inside.optimizer_steps()


def before_optimizer_step(optimizer, args, kwargs):
    if now.is_compiling is not None and not now.is_compiling():
        _optimizer_steps()


def after_optimizer_step(optimizer, args, kwargs):
    # Inside torch.compile this is a constant; the rest would make it compile again at every count.
    if now.is_compiling is not None and not now.is_compiling():
        _optimizer_stepped(optimizer)


def _first_parameter(torch, optimizer):
    """Return (device, dtype, CUDA index or None) of the first parameter."""
    groups = getattr(optimizer, "param_groups", None) or [{"params": found} for found in optimizer.param_lists]  # fastai's own
    for group in groups:
        for parameter in group["params"]:
            return _place(torch, parameter)
    return None, None, None


def _place(torch, parameter):
    with torch._C.DisableTorchFunction():
        device = parameter.device
        index = device.index if device.type == "cuda" else None
        return str(device), str(parameter.dtype).replace("torch.", ""), index


def model_passed(module, t, tid):
    """Without an optimizer's step, the model's parameters tell their device. No code of the user's runs."""
    state, left = now.state, [module]
    if state.optimizer_steps or t - state.optimized < channel.SECOND:
        return
    state.optimized = t
    while left:
        found = vars(left.pop())
        parameters = [one for one in found.get("_parameters", {}).values() if one is not None]
        if parameters:
            device, dtype, _ = _place(state.torch, parameters[0])
            state.channel.put(channel.encode_record({"k": "optim", "tid": tid, "device": device, "dtype": dtype, "steps": 0}))
            return
        left.extend(one for one in reversed(list(found.get("_modules", {}).values())) if one is not None)
