"""Stoker's start-up hook: times the input boundary of a PyTorch program from inside, without a change to it.

What it does. It lies first on PYTHONPATH, so `site` imports it. It waits for torch.utils.data.dataloader to be imported,
then times every iterator of a DataLoader, on the host's clock and on the device's own, and reports to `stoker observe`.
The same for stoker.DataLoader, once stoker._torch is imported.
What it does not. It never imports torch, never initialises CUDA, never synchronises, starts no thread, draws no random
number, prints nothing, keeps no reference to a batch, and decides nothing: the reader judges.
Neighbours. observe/hook (Go) writes this file to a private folder and reads the socket; stoker.emulated is a device to test with.

The user's program comes first:
  - Only our own code is guarded (`_guarded`). The user's calls stand outside of every guard; KeyboardInterrupt passes.
  - The first error of ours sends one `warn` record and puts the original functions back.
  - Python older than 3.8 steps aside. The file parses on all of them (2.7 too): a syntax error would be printed by `site`.

The protocol, version 1. Both sides begin with this paragraph.
  Each process connects an AF_UNIX SOCK_SEQPACKET socket to the path in STOKER_HOOK_SOCKET when it has its first record, and
  sends nothing unless its own user listens there. A path of more than 107 bytes is reached through /proc/self/fd/N/NAME.
  A packet is at most 32 KiB, one JSON object: {"v":1,"pid":_,"seq":_,"dropped":_,"records":[{"k":kind,...},...]}
  seq counts the packets of a process from 0; dropped is the number of records lost since the packet before.
  Times are integer ns of CLOCK_MONOTONIC, tids are native thread ids, null is unknown. Kinds:
    hello      role "main"|"worker", worker (id; in workers only), ppid, python, torch, cuda, torchvision, rank, local_rank, world,
               start_method, tid (of the main thread). The first record of each process.
    loader     loader (small int, per process; one that looks like one that is no longer in use goes on under its number, and is told once more, with anew true), t, kind ("stoker" where it is stoker.DataLoader, "ray", "dali", "spdl", "tf.data", "grain", "watched"; else left out), num_workers, prefetch_factor, pin_memory, persistent_workers, in_order, batch_size,
               drop_last, start_method, dataset (class), length (samples), iterable, shuffle, file, line (who iterates it first),
               call_file (absolute), call_line (who made it; null of others than PyTorch's),
               reader (the class whose __getitem__ reads a sample, behind Subsets), transforms (what the data set does to it then,
               by class or function, in order), own (which parts are the program's own code: "collate_fn", "worker_init_fn",
               "batch_sampler", "sampler", "image loader"; "fallen back": it is stoker's and could not be fed);
               of stoker's, num_workers are its share of the daemon's threads (null: as many as the daemon chose), and also
               fast, normalize_on_device
    iter       loader, iter, t (iter() was called), dt (until it returned)
    step       loader, iter, n (count per loader, from 0), t (the ask), w (wait), p (ask to next ask of this iterator, 0 unknown),
               first (only when true: the ask began at iter(), w is the wait there plus the wait in next()),
               grad, tid (who asks), b (samples in the batch), o (optimizer steps in this process within p; null where p is 0)
               loader -1: a step of the loop itself, which no loader feeds: from one optimizer step to the next, else from one pass of the
               outermost module to the next; w is 0 and b is null. With grad false evaluation, with saved true a checkpoint
    clock      loader, n, i (device idle that the wait caused), p (device time from this ask to the next, 0 unknown),
               src "cuda"|"emulated", dev; or x, the reason why step n has none. x is sent when it is new and then once a
               second: it holds for the steps of this loader from n on, until another clock record.
    batch      loader, bytes, samples, dtype (of the largest tensor), pinned, tensors
    fetch      worker, count, wall, cpu, collate, wall2 (sum of squares of wall, in s^2), samples: cumulative in this process, over
               the fetches that were timed: all, or one in eight after the first 32 where one takes less than 10 ms; looked, over how
               many it was looked whether random numbers were drawn, and drew, from which generators ("numpy", "random", "torch")
    feed       count, samples, read, decode, transform: cumulative in this process, over the batches that stoker feed made for it;
               the stages are summed over its threads
    memory     dev, allocated, reserved (peak bytes)
    precision  matmul "highest"|"high"|"medium", cudnn_benchmark, autocast (true once seen by the asking thread, else null)
    inside     loader, n, clock "cuda"|"emulated"|"host", span (ns on that clock, from this step's ask to the next), input, copy, forward,
               backward, optimizer, exchange (of the span, each by itself); and of the launching thread launches, launching (ns),
               copies (to the device), bytes, pageable (of the bytes), syncs (calls that wait for the device), waited (ns). Of some steps
    optim      tid, device, dtype (of the first parameter, null in JAX), steps (cumulative in this process; 0 where a model or a compiled
               function of JAX is called and no optimizer steps)
    warn       text
"""

import os
import sys

try:
    import _thread
    from _collections import deque
    from _weakref import ref
    from time import monotonic_ns, thread_time_ns

    native_id = _thread.get_native_id
    ThreadLocal = _thread._local
except (ImportError, AttributeError):  # before 3.8: `begin` steps aside
    ThreadLocal = object

MS = 1000000  # ns
SECOND = 1000 * MS
FLUSH_NS = 100 * MS  # the reader prints at most some times a second
FLUSH_RECORDS = 64
PACKET_BYTES = 32 << 10
RECORD_BYTES = 8 << 10  # of one record; longer ones are lost
QUEUE_RECORDS = 4096  # where nobody could flush; beyond that the oldest are lost
PENDING_PAIRS = 4096  # CUDA's own queue holds about 1,000 launches, so a full list means a broken device
POLLED_PAIRS = 256  # at a time; fewer come in between two reads, so the list shrinks
READ_NS = 30 * MS  # between two reads: what is read together costs a fraction, its code stays in the caches
TIMED_FETCHES = 32  # all of these are timed, and of quick ones one in eight after that: the mean is what counts
QUICK_NS = 10 * MS
FIRST_BATCHES = 3  # described in full; after that one a second
WALK_NODES = 1000  # of a nested batch
ALIKE = 256  # kinds of loaders that are known again; the reader keeps as many
OTHER_THREAD = "asked by another thread than the one that launches"
GAP_NS = 1 * MS  # between iter() and the first next(): more than that is work of the user's

_off = False  # for good: after an error of ours, with no one to report to, at exit
_state = None  # of this process; a forked child gets its own
_patches = []  # (owner, name, original, ours)
_graves = []  # states of our parents: to free an event is to use the device, which a forked child must not
_is_compiling = None  # torch's function of that name
_turn = [0, 0]  # fetches so far; mask: those whose number has one of its bits are not timed
_ours = [globals()]  # of this file and of the parts that were loaded: how frames of ours are told
_parts = {}  # the parts that were loaded, by name
_captures = set()  # ids of the CUDA graphs being captured now, in any thread
_captured = False  # whether one ever was
_tracer = None  # of trace.py, while a trace is being taken


# ---------------------------------------------------------------------------------------------------------------------
# What is put in place of torch's functions. The user's call stands in plain sight, between ours.


def _next_in_place_of(original):
    def __next__(self):
        step = _ask(self)
        try:
            batch = original(self)
        except BaseException as error:
            _stopped(step, error)
            raise
        _got(step, batch)
        return batch

    return __next__


def _iter_in_place_of(original):
    def __iter__(self):
        begun = _begin_iter()
        try:
            iterator = original(self)
        except BaseException as error:
            _hide_our_frames(error)
            raise
        _begun(self, iterator, begun)
        return iterator

    return __iter__


def _init_in_place_of(original):
    def __init__(self, *args, **kwargs):
        _called(self)
        original(self, *args, **kwargs)

    __init__.__wrapped__ = original  # who asks for its arguments sees torch's
    return __init__


def _fetch_in_place_of(original):
    def fetch(self, possibly_batched_index):
        _turn[0] += 1
        started = None if _turn[0] & _turn[1] else _begin_fetch()
        try:
            batch = original(self, possibly_batched_index)
        except BaseException as error:
            _hide_our_frames(error)
            raise
        if started is not None:
            _fetched(self, started)
        return batch

    return fetch


def _fetcher_in_place_of(original):
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        _time_collate(self)

    return __init__


class _Collate(object):
    """Stands for collate_fn on one fetcher, in the process that fetches. The DataLoader keeps the user's own."""

    __slots__ = ("user",)

    def __init__(self, user):
        self.user = user

    def __call__(self, samples):
        if _off or _turn[0] & _turn[1]:
            return self.user(samples)
        started = monotonic_ns()
        batch = self.user(samples)
        _collated(samples, started)
        return batch


def _note_in_place_of(original):
    def _note(self, session, packet):
        original(self, session, packet)
        _fed(packet)

    return _note


def _capture_begin_in_place_of(original):
    def capture_begin(self, *args, **kwargs):
        _capture_begins(self)
        try:
            return original(self, *args, **kwargs)
        except BaseException:
            _capture_failed(self)
            raise

    return capture_begin


def _capture_end_in_place_of(original):
    def capture_end(self, *args, **kwargs):
        try:
            return original(self, *args, **kwargs)
        finally:
            _captures.discard(id(self))

    return capture_end


# ---------------------------------------------------------------------------------------------------------------------
# The guard.


def _guarded(work):
    """Make a function that never raises into the program, and does nothing once the hook is off."""

    def guarded(*args):
        if _off:
            return None
        try:
            return work(*args)
        except Exception as error:
            # A handler of the user's may have been run by a signal that came while we were here: its exception is his.
            if _raised_by_signal_handler(error):
                raise
            _fail(error)
            return None

    return guarded


def _fail(error):
    """Our first error is our last: say so once, and put everything back."""
    state = _state
    try:
        _step_aside()
        state.channel.say(state, "hook off: " + _describe(error))
    except Exception:
        pass  # even this failed: silence is all that is left


def _step_aside():
    global _off
    _off = True
    for owner, name, original, ours in reversed(_patches):
        # Somebody may have wrapped ours since; then ours stays, and passes straight through.
        if owner.__dict__.get(name) is ours:
            setattr(owner, name, original)
    del _patches[:]
    if _state is not None and _state.inside is not None:
        _state.inside.put_back()
        _parts["lend"].take_all()
    # Three stay, and do nothing: our finder and our optimizer hooks. Somebody may be on his way through either list just now.
    _finder.wanted.clear()


def _describe(error):
    line, entry = 0, error.__traceback__
    while entry is not None:
        if _is_ours(entry.tb_frame):
            line = entry.tb_lineno
        entry = entry.tb_next
    return "%s: %s (line %d)" % (type(error).__name__, str(error)[:300], line)


def _raised_by_signal_handler(error):
    import _signal

    codes = set()
    for number in range(1, _signal.NSIG):
        handler = _signal.getsignal(number)
        if callable(handler):
            inside = [getattr(handler, name, None) for name in ("__func__", "func")]  # a method, a partial
            for function in [handler, getattr(type(handler), "__call__", None)] + inside:
                codes.add(getattr(function, "__code__", None))
    codes.discard(None)
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def _hide_our_frames(error):
    """Take our inner frames out of a traceback: whatever was nested, the user sees one frame more, not three."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        if _is_ours(entry.tb_next.tb_frame):
            entry.tb_next = entry.tb_next.tb_next
        else:
            entry = entry.tb_next


def _is_ours(frame):
    return any(frame.f_globals is names for names in _ours)


# ---------------------------------------------------------------------------------------------------------------------
# The input boundary: ask, got, stopped. Everything else of ours is done in `got`, after the clocks were read.


class _Step(object):
    """One ask. `a` and `b` are points on the device's clock, or the reason why there are none."""

    __slots__ = ("state", "loader", "track", "iter", "n", "t", "began", "waited", "first", "grad", "tid", "samples", "optimized", "a", "b")


class _Iteration(object):
    """One pass over a loader; lives on the iterator, dies with it."""

    __slots__ = ("state", "loader", "number", "track", "begun", "__weakref__")


class _Track(object):
    """The step of an iteration whose period is not known yet. Outlives the iteration: after a `break` nobody asks again."""

    __slots__ = ("open", "ended")


@_guarded
def _ask(iterator):
    t = monotonic_ns()
    state = _state
    iteration = iterator.__dict__.get("_stoker")
    if iteration is None or iteration.state is not state:
        iteration = state.adopt(iterator, t)
    step = _Step()
    step.state, step.loader, step.iter = state, iteration.loader, iteration.number
    step.tid = tid = native_id()
    step.grad = state.torch is None or state.torch.is_grad_enabled()
    step.waited, step.first, step.optimized = 0, False, state.optimizer_steps
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
        step.a = OTHER_THREAD


@_guarded
def _got(step, batch):
    if step is None:
        return
    t = monotonic_ns()
    state, loader = step.state, step.loader
    step.waited += t - step.began
    step.b = state.devices.point(t, step.tid) if type(step.a) is _Point else None
    step.n = loader.count
    loader.count += 1
    step.samples = _samples(state.torch, loader, batch) if state.torch is not None else None
    step.track.open = step
    if state.inside is not None:
        state.inside.got()
    if t - state.devices.thread.read_at >= READ_NS:
        state.devices.read(state, t)
    if state.torch is not None and (step.n < FIRST_BATCHES or t - loader.described >= SECOND):
        loader.described = t
        _describe_batch(state, loader, batch)
    if _tracer is not None:  # here and not in `_ask`, which also comes at the end of an epoch
        _tracer.boundary(t)
    state.after_step(t)


@_guarded
def _stopped(step, error):
    """No batch: the end of the data, or an exception of the user's, which passes unchanged."""
    _hide_our_frames(error)
    if step is None:
        return
    state = step.state
    step.track.ended = True
    state.devices.forget(step.a)
    if state.inside is not None:
        state.inside.stopped(step)
    if type(error) is StopIteration:
        state.devices.read(state, step.began)
        state.flush(monotonic_ns())


def _note_call(loader):
    """Note the line that makes a DataLoader."""
    file, line = _users_line()
    if file is not None:
        _calls.put(loader, (os.path.abspath(file), line))


@_guarded
def _called(loader):
    _note_call(loader)


@_guarded
def _tell_again(loader, iterator):
    """Settings were set and taken back (apply.py): those that were told are not in use."""
    known = _state.loaders.get(loader) if _state is not None else None
    if known is not None:
        told = {name: value for name, value in _settings(loader, iterator).items() if name not in ("collates", "exact")}
        _state.channel.put_first(dict(told, k="loader", loader=known.number, t=monotonic_ns()))


@_guarded
def _begin_iter():
    t, tid = monotonic_ns(), native_id()
    if _state.own is not None:
        _parts["own"].only_steps()
    return t, _state.devices.point(t, tid), tid


@_guarded
def _begun(loader, iterator, begun):
    if begun is None:
        return
    t, state = monotonic_ns(), _state
    if not isinstance(iterator, _iterators(_torch_name)) and not isinstance(iterator, _iterators(_stoker_name)):
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


_torch_name, _stoker_name = "torch.utils.data.dataloader", "stoker._torch"
_iterator_names = {_torch_name: "_BaseDataLoaderIter", _stoker_name: "_Batches"}


def _iterators(name):
    """The class of a module's iterators; none where it is not imported."""
    module = sys.modules.get(name)
    return getattr(module, _iterator_names[name], ()) if module is not None else ()


# ---------------------------------------------------------------------------------------------------------------------
# The process.


class _Loader(object):
    """What we know of one DataLoader. Holds nothing of the user's."""

    __slots__ = ("number", "iterations", "count", "described", "batch_size", "exact", "collates", "pin_memory", "reason", "reasoned", "anew")


class _Process(object):
    """All that the hook knows in one process. A forked child begins with an empty one."""

    def __init__(self):
        self.torch = sys.modules.get("torch")
        self.channel = _Channel()
        self.devices = _Devices()
        self.loaders = _ByObject()
        self.alike = {}  # settings, as text: the loaders that had them
        self.optimizers = _ByObject()
        self.fetches = _Fetches()
        self.feed = _Feed()
        self.tracks = {}  # iteration number: (weak reference to it, track)
        self.loader_count = 0
        self.iteration_count = 0
        self.optimizer_steps = 0
        self.optimized = 0  # when that was last reported
        self.second = 0  # when the duties of each second were last done
        self.precision = None
        self.inside = self.own = None
        if "inside" in _parts:
            self.look_inside()

    def look_inside(self):
        self.inside = _parts["inside"].Inside(self)
        self.own = _parts["own"].Own(self, self.inside)

    def meet(self, loader, iterator, t):
        """Give a new DataLoader a number and report its settings."""
        known = self.new_loader(_settings(loader, iterator), t)
        self.loaders.put(loader, known)
        return known

    def adopt(self, iterator, t):
        """An iterator that was not made by iter(loader), or in our parent before a fork."""
        if self.own is not None:
            _parts["own"].only_steps()
        return self.iterate(self.new_loader(_settings(None, iterator), t), iterator)

    def new_loader(self, settings, t):
        """A loader that looks like one that is no longer in use is that one: most scripts make theirs anew in each epoch."""
        looks = _json(settings)
        if len(self.alike) < ALIKE:
            self.alike.setdefault(looks, [])
        alike = self.alike.get(looks, [])
        for known in alike:
            if not self.in_use(known):
                self.tell_anew(known, settings, t)
                return known
        known = _Loader()
        alike.append(known)
        known.number, known.iterations, known.count, known.described = self.loader_count, 0, 0, 0
        self.loader_count += 1
        known.collates = settings.pop("collates")
        known.exact = settings.pop("exact")
        known.batch_size, known.pin_memory = settings["batch_size"], settings["pin_memory"]
        known.reason, known.reasoned, known.anew = None, 0, settings.get("kind") not in (None, "stoker")  # of others it is told by nobody
        self.channel.put_first(dict(settings, k="loader", loader=known.number, t=t))
        return known

    def tell_anew(self, known, settings, t):
        if not known.anew:
            known.anew = True
            told = {name: value for name, value in settings.items() if name not in ("collates", "exact")}
            self.channel.put_first(dict(told, k="loader", loader=known.number, t=t, anew=True))

    def in_use(self, known):
        """Whether a DataLoader of that number is still there, or an iterator of it that has not ended."""
        iterations = (iteration() for iteration, track in list(self.tracks.values()) if not track.ended)
        return self.loaders.holds(known) or any(one is not None and one.loader is known for one in iterations)

    def iterate(self, known, iterator):
        iteration = _Iteration()
        iteration.state, iteration.loader, iteration.number = self, known, known.iterations
        known.iterations += 1
        iteration.track = _Track()
        iteration.track.open, iteration.track.ended = None, False
        iteration.begun = None
        self.tracks[self.iteration_count] = (ref(iteration), iteration.track)
        self.iteration_count += 1
        iterator._stoker = iteration
        return iteration

    def sweep(self):
        """Report the last steps of iterators that are gone."""
        for number, (iteration, track) in list(self.tracks.items()):
            if iteration() is None:
                self.tracks.pop(number, None)
                self.close_open(track)

    def close_open(self, track):
        step, track.open = track.open, None
        if step is not None:
            self.close(step, 0, None)

    def close(self, step, period, end):
        """Report a step, now that its period is known; hand its pair to the device's clock."""
        first = ',"first":true' if step.first else ""
        grad = "true" if step.grad else "false"
        samples = "null" if step.samples is None else step.samples
        optimized = self.optimizer_steps - step.optimized if period else "null"
        self.channel.put((_STEP, (step.loader.number, step.iter, step.n, step.t, step.waited, period, first, grad, step.tid, samples, optimized)))
        self.devices.close(self, step, end)

    def after_step(self, t):
        """The duties that can wait until the clocks were read."""
        if t - self.second >= SECOND:
            self.second = t
            self.sweep()
            if self.torch is not None:
                self.report_precision()
            self.devices.report_memory(self)
            _look_for_requests(self)
        if t - self.channel.flushed >= FLUSH_NS or len(self.channel.records) >= FLUSH_RECORDS:
            self.flush(t)

    def flush(self, t):
        self.fetches.report(self.channel)
        self.feed.report(self.channel)
        self.channel.flush(self, t)

    def report_precision(self):
        found = _precision(self.torch)
        if found != self.precision:
            self.precision = found
            self.channel.put(_json(dict(found, k="precision")))

    def finish(self):
        if _tracer is not None:
            _tracer.give_up("the program ended before its steps were traced")
        for iteration, track in list(self.tracks.values()):
            self.close_open(track)
        self.tracks.clear()
        self.devices.read(self, monotonic_ns(), len_limit=PENDING_PAIRS)
        self.flush(monotonic_ns())
        self.channel.close()


def _look_for_requests(state):
    """`observe` asks for something by a file beside its socket: the other way is ours alone."""
    global _tracer
    folder, ask = os.path.dirname(os.environ.get("STOKER_HOOK_SOCKET", "")), "-%d.ask" % os.getpid()
    trace, log = os.path.join(folder, "trace" + ask), os.path.join(folder, "log" + ask)
    if _tracer is None and os.path.exists(trace):
        _tracer = _part("trace").tracer(trace)
    if os.path.exists(log):
        _part("log").log(state, log)


def _request(path):
    """Read and remove what is asked for: it must be ours."""
    import json

    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(handle) as file:
        if os.fstat(file.fileno()).st_uid != os.geteuid():
            raise ValueError("%s is another user's" % os.path.basename(path))
        request = json.load(file)
    os.unlink(path)
    return request


def _end_trace():
    global _tracer
    _tracer = None


# The records of every step are formatted when they are sent, many at a time: in the loop that costs half as much.
_STEP = '{"k":"step","loader":%d,"iter":%d,"n":%d,"t":%d,"w":%d,"p":%d%s,"grad":%s,"tid":%d,"b":%s,"o":%s}'
_CLOCK = '{"k":"clock","loader":%d,"n":%d,"i":%d,"p":%d,"src":"%s","dev":%d}'


class _ByObject(object):
    """Values by the identity of objects of the user's, without keeping them alive and without asking them anything."""

    def __init__(self):
        self.entries = {}

    def get(self, thing):
        found = self.entries.get(id(thing))
        return found[1] if found is not None and found[0]() is thing else None

    def holds(self, value):
        return any(found is value and thing() is not None for thing, found in list(self.entries.values()))

    def put(self, thing, value):
        from _functools import partial

        key = id(thing)
        # The callback is all C: in a callback in Python a KeyboardInterrupt would be lost.
        self.entries[key] = (ref(thing, partial(self.entries.pop, key)), value)


_calls = _ByObject()  # (file, line) where a DataLoader was made


# ---------------------------------------------------------------------------------------------------------------------
# The device's own clock.
#
#   host    ask_n ....... got_n   step   ask_n+1 ....... got_n+1
#   queue     A             B    kernels    A'              B'
#   device  A to B is idle that the wait caused, about 0 while queued work covers it; A to A' is the period.
#
# A point is an event on the stream that the asking thread uses. Points are made, asked and read in that thread only.


class _Point(object):
    __slots__ = ("device", "index", "stream", "event", "tid", "pairs")


class _Pair(object):
    """What is to be read: B after A, and the next A where there is one. A pair without n only gives its events back."""

    __slots__ = ("loader", "n", "a", "b", "end")


class _PairsOfThread(ThreadLocal):
    """Pairs in the order in which their last events were recorded, per asking thread."""

    def __init__(self):
        self.pending = deque()
        self.read_at = 0


class _Devices(object):
    def __init__(self):
        self.thread = _PairsOfThread()
        self.cuda = _Cuda()
        self.emulated = _Emulated()
        # In use by one thread at a time. Nobody waits for it here; a capture that begins waits for us (`_capture_begins`).
        self.lock = _thread.allocate_lock()

    def point(self, t, tid):
        """Record a point on the device's clock, or say why not."""
        if not self.lock.acquire(False):
            return "asked by two threads at once"
        try:
            pending = self.thread.pending
            if len(pending) >= PENDING_PAIRS:
                return "pool exhausted"
            emulated = self.emulated.present(t)
            found = self.emulated.record(tid) if emulated else self.cuda.record(t, tid)
            if type(found) is str:
                return found
            point = _Point()
            point.index, point.stream, point.event = found
            point.device = self.emulated if emulated else self.cuda
            point.tid, point.pairs = tid, pending
            return point
        finally:
            self.lock.release()

    def close(self, state, step, end):
        """Hand the pair of a step over for reading. `end` is the next A, of whoever asked."""
        a, b = step.a, step.b
        if type(a) is not _Point:
            self.explain(state, step.loader, step.n, a)
            return
        if not _comparable(a, b):
            self.explain(state, step.loader, step.n, b if type(b) is str else "side stream")
            self.forget(b)
            b = None
        pair = _Pair()
        pair.loader, pair.n, pair.a, pair.b = step.loader, step.n, a, b
        pair.end = end if _comparable(a, end) else None
        a.pairs.append(pair)

    def forget(self, point):
        """A point without a pair. It may be the end of the pair before it, so its event goes back after that one."""
        if type(point) is _Point:
            pair = _Pair()
            pair.loader, pair.n, pair.a, pair.b, pair.end = None, None, point, None, None
            point.pairs.append(pair)

    def read(self, state, t, len_limit=POLLED_PAIRS):
        """Read the oldest pairs of this thread as far as the device got. Waits for nothing."""
        pending = self.thread.pending
        self.thread.read_at = t
        if not pending or not self.lock.acquire(False):
            return
        try:
            for _ in range(min(len_limit, len(pending))):
                pair = pending[0]
                last = pair.end or pair.b or pair.a
                if not last.device.passed(last.event):
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
        state.channel.put((_CLOCK, (pair.loader.number, pair.n, idle, period, a.device.name, a.index)))

    def explain(self, state, loader, n, reason):
        t = monotonic_ns()
        if reason != loader.reason or t - loader.reasoned >= SECOND:
            loader.reason, loader.reasoned = reason, t
            state.channel.put('{"k":"clock","loader":%d,"n":%d,"x":"%s"}' % (loader.number, n, reason))

    def report_memory(self, state):
        if self.lock.acquire(False):
            try:
                for record in self.cuda.memory():
                    state.channel.put(_json(record))
            finally:
                self.lock.release()


def _comparable(a, b):
    return type(b) is _Point and b.device is a.device and b.stream == a.stream and b.index == a.index and b.tid == a.tid


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
        if _captures or cuda.is_current_stream_capturing():
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
        return self.wrong(tid, stream) or (index, stream, self.recorded(cuda, index, stream))

    def recorded(self, cuda, index, raw_stream):
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

    def survey(self, cuda, t):
        self.used = tuple(index for index in range(cuda.device_count()) if _holds_memory(cuda, index))
        for tid, (_, stepped) in list(self.launchers.items()):
            if t - stepped > 10 * SECOND:
                self.launchers.pop(tid, None)

    def launched(self, tid, index, t):
        """An optimizer stepped: this thread launches, on this stream. Not where a capture only writes it down."""
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not cuda.is_initialized() or _captures or cuda.is_current_stream_capturing():
            return
        self.launchers[tid] = (_raw_stream(cuda, index), t)

    def passed(self, event):
        # During a capture in any thread even a query is forbidden: it would break the capture.
        cuda = sys.modules["torch.cuda"]
        return not _captures and not cuda.is_current_stream_capturing() and event.query()

    def elapsed_ns(self, a, b):
        return int(a.elapsed_time(b) * MS)

    def give_back(self, point):
        self.free.setdefault(point.index, []).append(point.event)

    def memory(self):
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not self.used or not cuda.is_initialized() or _captures:
            return
        for index in self.used:
            try:
                stats = cuda.memory_stats_as_nested_dict(index)
                allocated, reserved = (stats[key]["all"]["peak"] for key in ("allocated_bytes", "reserved_bytes"))
            except (KeyError, RuntimeError):  # an allocator of the user's keeps no books
                continue
            yield {"k": "memory", "dev": index, "allocated": allocated, "reserved": reserved}


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

    def record(self, tid):
        if len(self.found) > 1:
            return "several devices"
        device = self.found[0]()
        if device is None:
            return "no device"
        if device.launch_thread not in (None, tid):
            return OTHER_THREAD
        return device.index, 0, device.event()

    def wrong_thread(self, point):
        for device in self.found:
            device = device()
            if device is not None and device.index == point.index and device.launch_thread not in (None, point.tid):
                return OTHER_THREAD
        return None

    def passed(self, event):
        return event.query()

    def elapsed_ns(self, a, b):
        return int(round(a.elapsed(b) * SECOND))

    def give_back(self, point):
        pass


@_guarded
def _capture_begins(graph):
    # Pairs with `_Devices.lock`: once the id is in the set no thread of the program is inside a device call of ours.
    # The wait is bounded, because a signal handler may begin a capture on top of our own frames.
    global _captured
    held = _state.devices.lock.acquire(True, 0.01)
    _captures.add(id(graph))
    _captured = True
    if held:
        _state.devices.lock.release()


@_guarded
def _capture_failed(graph):
    # Only if it did not begin: a hook of the user's may have raised while the capture goes on.
    if not sys.modules["torch.cuda"].is_current_stream_capturing():
        _captures.discard(id(graph))


@_guarded
def _optimizer_stepped(optimizer):
    state, t, tid = _state, monotonic_ns(), native_id()
    state.optimizer_steps += 1
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
        state.devices.cuda.launched(tid, index, t)
    if t - state.optimized >= SECOND:
        state.optimized = t
        state.channel.put(_json({"k": "optim", "tid": tid, "device": device, "dtype": dtype, "steps": state.optimizer_steps}))
        if t - state.channel.flushed >= FLUSH_NS:  # a loop over no DataLoader: nobody else sends, and a signal may end it
            state.channel.flush(state, t)


@_guarded
def _optimizer_steps():
    if _state.inside is not None:
        _state.inside.optimizer_steps()


def _before_optimizer_step(optimizer, args, kwargs):
    if _is_compiling is not None and not _is_compiling():
        _optimizer_steps()


def _after_optimizer_step(optimizer, args, kwargs):
    # Inside torch.compile this is a constant; the rest would make it compile anew at every count.
    if _is_compiling is not None and not _is_compiling():
        _optimizer_stepped(optimizer)


def _step_in_place_of(original):
    def step(self, *args, **kwargs):
        _before_optimizer_step(self, args, kwargs)
        stepped = original(self, *args, **kwargs)
        _after_optimizer_step(self, args, kwargs)
        return stepped

    return step


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


def _model_passed(module, t, tid):
    """Where no optimizer steps the model itself tells where it lies. Nothing of the user's runs."""
    state, left = _state, [module]
    if state.optimizer_steps or t - state.optimized < SECOND:
        return
    state.optimized = t
    while left:
        found = vars(left.pop())
        parameters = [one for one in found.get("_parameters", {}).values() if one is not None]
        if parameters:
            device, dtype, _ = _place(state.torch, parameters[0])
            state.channel.put(_json({"k": "optim", "tid": tid, "device": device, "dtype": dtype, "steps": 0}))
            return
        left.extend(one for one in reversed(list(found.get("_modules", {}).values())) if one is not None)


# ---------------------------------------------------------------------------------------------------------------------
# Fetching: what a batch costs to prepare, in the process that prepares it.


class _Fetches(object):
    """Sums over all fetches of this process."""

    def __init__(self):
        self.count = self.wall = self.cpu = self.collate = self.samples = self.reported = 0
        self.wall2 = 0.0
        self.worker = None
        self.looked, self.drew = 0, set()

    def report(self, channel):
        if self.count == self.reported:
            return
        self.reported = self.count
        channel.put(
            '{"k":"fetch","worker":%s,"count":%d,"wall":%d,"cpu":%d,"collate":%d,"wall2":%.9g,"samples":%d,"looked":%d,"drew":%s}'
            % (_encode(self.worker), self.count, self.wall, self.cpu, self.collate, self.wall2, self.samples, self.looked, _encode(sorted(self.drew)))
        )


class _Feed(object):
    """Sums over the batches that stoker feed made for this process."""

    STAGES = ("read", "decode", "transform")

    def __init__(self):
        self.count = self.samples = self.reported = 0
        self.seconds = [0.0, 0.0, 0.0]

    def report(self, channel):
        if self.count == self.reported:
            return
        self.reported = self.count
        stages = tuple(int(seconds * SECOND) for seconds in self.seconds)
        channel.put('{"k":"feed","count":%d,"samples":%d,"read":%d,"decode":%d,"transform":%d}' % ((self.count, self.samples) + stages))


@_guarded
def _fed(packet):
    feed, times = _state.feed, packet.get("t")
    if times is None:
        return
    feed.count += 1
    feed.samples += packet["count"]
    feed.seconds = [sum + times[stage] for sum, stage in zip(feed.seconds, feed.STAGES)]


@_guarded
def _begin_fetch():
    before = _part("state").chance() if _state.fetches.looked < TIMED_FETCHES else None
    return monotonic_ns(), thread_time_ns(), before


@_guarded
def _fetched(fetcher, started):
    if started is None:
        return
    t, cpu = monotonic_ns(), thread_time_ns()
    state = _state
    fetches = state.fetches
    wall = t - started[0]
    fetches.count += 1
    fetches.wall += wall
    fetches.cpu += cpu - started[1]
    fetches.wall2 += (wall / SECOND) ** 2
    if started[2] is not None:
        fetches.looked += 1
        fetches.drew.update(_part("state").drawn(started[2], _part("state").chance()))
    if fetches.count >= TIMED_FETCHES:
        _turn[1] = 7 if fetches.wall < fetches.count * QUICK_NS else 0
    if not fetcher.auto_collation:
        fetches.samples += 1
    if t - state.channel.flushed >= FLUSH_NS:
        worker = _worker_id()
        if worker is not None:  # elsewhere the asking thread flushes
            if fetches.worker is None:
                _finish_with_worker()
            fetches.worker = worker
            state.flush(t)


@_guarded
def _time_collate(fetcher):
    fetcher.collate_fn = _Collate(fetcher.collate_fn)


@_guarded
def _collated(samples, started):
    fetches = _state.fetches
    fetches.collate += monotonic_ns() - started
    if type(samples) is list:
        fetches.samples += len(samples)


def _worker_id():
    worker = sys.modules.get("torch.utils.data._utils.worker")
    info = getattr(worker, "_worker_info", None)
    return getattr(info, "id", None)


def _finish_with_worker():
    """A forked worker leaves through os._exit: atexit does not run there, finalizers of multiprocessing do."""
    from multiprocessing import util

    util.Finalize(None, _at_exit, exitpriority=0)


# ---------------------------------------------------------------------------------------------------------------------
# The channel.


class _Channel(object):
    """Records in, packets out. Never waits: what the socket does not take is lost, and counted.

    A record is JSON text, or a format and its values.
    """

    def __init__(self):
        self.socket = None
        self.node = None  # device and inode of our socket
        self.dead = False
        self.first = deque()  # hello, loaders, warnings: kept until they are sent
        self.records = deque()
        self.lock = _thread.allocate_lock()  # guards sending; nobody waits for it
        self.flushed = 0
        self.seq = 0
        self.dropped = 0
        self.greeted = False

    def put(self, record):
        self.records.append(record)
        if len(self.records) > QUEUE_RECORDS:
            self.records.popleft()
            self.dropped += 1

    def put_first(self, record):
        if len(self.first) < FLUSH_RECORDS:
            self.first.append(_json(record))
        else:
            self.dropped += 1

    def say(self, state, text):
        """The last words: a warning, at once, and then nothing more."""
        try:
            if self.seq == 0:  # hello itself may be what failed; no other record comes before it
                self.first.clear()
                self.records.clear()
            self.put_first({"k": "warn", "text": text})
            self.flush(state, monotonic_ns())
        finally:
            self.close()

    def flush(self, state, t):
        self.flushed = t
        if self.dead or not (self.first or self.records) or not self.lock.acquire(False):
            return
        try:
            if not self.greeted:
                self.greeted = True
                self.first.appendleft(_json(_hello(state)))
            if self.socket is None and not self.connect():
                self.die()
                return
            while self.first or self.records:
                if not self.send(self.packet()):
                    return
        finally:
            self.lock.release()

    def packet(self):
        """Take as many records as one packet holds. Returns (text, how many of `first`, how many others)."""
        texts, size, kept = [], 200, 0
        for text in list(self.first):  # a copy: another thread may add to it
            if size + len(text) > PACKET_BYTES:
                break
            texts.append(text)
            size += len(text) + 1
            kept += 1
        while kept == len(self.first) and self.records:
            record = self.records.popleft()
            text = record if type(record) is str else record[0] % record[1]
            size += len(text) + 1
            if size > PACKET_BYTES:
                self.records.appendleft(text)
                break
            texts.append(text)
        text = '{"v":1,"pid":%d,"seq":%d,"dropped":%d,"records":[%s]}' % (os.getpid(), self.seq, self.dropped, ",".join(texts))
        return text, kept, len(texts) - kept

    def send(self, packet):
        """Send one packet; False if no more will go now."""
        text, kept, others = packet
        if not self.ours():
            self.die()
            return False
        try:
            self.socket.send(text.encode("ascii"), _MSG_FLAGS)
        except OSError as error:
            self.dropped += others + len(self.records)
            self.records.clear()
            if error.errno not in _FULL:
                self.die()
            return False
        for _ in range(kept):
            self.first.popleft()
        self.seq += 1
        self.dropped = 0
        return True

    def connect(self):
        global _MSG_FLAGS, _FULL
        import errno

        import _socket

        _MSG_FLAGS = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL  # the program may have reset SIGPIPE
        _FULL = (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.EINTR)
        connection = None
        try:
            # The C type: `socket.socket` may be somebody's own (gevent), or have a default timeout.
            connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK)
            connection.setblocking(False)
            if connection.fileno() < 3:
                connection = _above_stdio(_socket, connection)
            _connect(connection, os.environ["STOKER_HOOK_SOCKET"])
            if _listener(_socket, connection) != os.geteuid():
                raise ValueError("another user listens there")
        except (OSError, KeyError, ValueError):
            if connection is not None:
                connection.close()
            return False
        self.socket = connection
        self.node = _node(connection.fileno())
        return True

    def ours(self):
        """A daemon closes all descriptors, and ours may be a file or a socket of the program by now."""
        return self.socket is not None and _node(self.socket.fileno()) == self.node

    def die(self):
        """Nobody listens: from now on the program runs as without us."""
        self.close()
        _step_aside()

    def close(self):
        self.dead = True
        self.records.clear()
        if self.socket is not None:
            if self.ours():
                self.socket.close()
            else:
                self.socket.detach()
            self.socket = None


def _above_stdio(_socket, connection):
    """The program closed stdin, stdout or stderr: what it opens next belongs there, not we."""
    import fcntl

    number = fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
    connection.close()
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, number)
    connection.setblocking(False)
    return connection


def _connect(connection, path):
    """A path that is too long for a socket leads through a descriptor of its folder."""
    if len(os.fsencode(path)) <= 107:
        connection.connect(path)
        return
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
    finally:
        os.close(folder)


def _listener(_socket, connection):
    """The user who listens: the path may have outlived observe, and be another's."""
    return int.from_bytes(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8], sys.byteorder)


def _node(number):
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _json(record):
    text = _encode(record)
    return text if len(text) <= RECORD_BYTES else _encode({"k": "warn", "text": "a %s record was too long" % record["k"]})


# ---------------------------------------------------------------------------------------------------------------------
# What is reported once, or once a second.


def _hello(state):
    torch, worker = state.torch, _worker_id()
    record = {"k": "hello", "role": "main" if worker is None else "worker", "ppid": os.getppid(), "tid": os.getpid()}
    if worker is not None:
        record["worker"] = worker
    record["python"] = "%d.%d.%d" % sys.version_info[:3]
    record["torch"] = _text(getattr(torch, "__version__", None))
    record["cuda"] = _text(getattr(getattr(torch, "version", None), "cuda", None))
    record["torchvision"] = _text(getattr(sys.modules.get("torchvision"), "__version__", None))
    record["rank"] = _number_in_environment("RANK", "SLURM_PROCID")
    record["local_rank"] = _number_in_environment("LOCAL_RANK")
    record["world"] = _number_in_environment("WORLD_SIZE")
    record["start_method"] = _start_method(None)
    return record


def _number_in_environment(*names):
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return None


def _text(value):
    return str(value)[:500] if isinstance(value, str) else None


def _settings(loader, iterator):
    """The settings of a loader, as plain values; of those of a bare iterator, what it knows.

    Read from the instance's own attributes: a property of a subclass would be code of the user's.
    """
    other = _parts["inputs"].settings(iterator) if "inputs" in _parts else None
    if other is not None:
        return other
    if isinstance(iterator, _iterators(_stoker_name)):
        return _stoker_settings(vars(vars(iterator)["_loader"]), vars(vars(iterator)["_fed"]))
    own = vars(loader) if loader is not None else {name.lstrip("_"): value for name, value in vars(iterator).items()}
    dataset, batch_sampler = own.get("dataset"), own.get("batch_sampler")
    kinds = sys.modules["torch.utils.data.dataloader"]._DatasetKind
    iterable = vars(iterator).get("_dataset_kind") == kinds.Iterable
    batch_size = own.get("batch_size")
    if batch_size is None and batch_sampler is not None:
        batch_size = getattr(batch_sampler, "__dict__", {}).get("batch_size")
    settings = {name: _plain(own.get(name)) for name in _SETTINGS}
    settings["batch_size"] = _plain(batch_size)
    settings["start_method"] = _start_method(own.get("_DataLoader__multiprocessing_context"))
    settings["dataset"] = type(dataset).__name__
    settings["iterable"] = iterable
    settings["length"] = None if iterable else _length(own.get("sampler"), dataset)
    settings["shuffle"] = None if iterable or loader is None else _shuffles(own.get("sampler"), batch_sampler)
    settings["file"], settings["line"] = _users_line()
    settings["call_file"], settings["call_line"] = _calls.get(loader) or (None, None)
    settings.update(_reading(loader, own))
    # A batch surely has batch_size samples where torch's own sampler makes the batches and the last short one is dropped.
    own_batches = type(batch_sampler).__module__.startswith("torch.utils.data.")
    settings["exact"] = bool(own_batches and own.get("drop_last") and isinstance(settings["batch_size"], int))
    settings["collates"] = bool(vars(iterator).get("_auto_collation"))
    return settings


def _reading(loader, own):
    """What a sample goes through, by name. Only classes and plain attributes are looked at: nothing of the user's runs."""
    collate = sys.modules.get("torch.utils.data._utils.collate")
    if collate is None:
        return {}  # a torch that is not known
    dataset = own.get("dataset")
    while _name(type(dataset)) == "torch.utils.data.dataset.Subset":
        dataset = vars(dataset).get("dataset")
    found = getattr(dataset, "__dict__", {})
    reader = [kind for kind in type(dataset).__mro__ if "__getitem__" in vars(kind)] or [type(dataset)]
    parts = {
        "collate_fn": own.get("collate_fn") is collate.default_collate,
        "worker_init_fn": own.get("worker_init_fn") is None,
        "batch_sampler": _name(type(own.get("batch_sampler"))) == "torch.utils.data.sampler.BatchSampler",
        "sampler": _name(type(own.get("sampler"))) in _SAMPLERS,
        "image loader": "loader" not in found or _name(found["loader"]).startswith("torchvision.datasets.folder."),
        "fallen back": not type(loader).__module__.startswith("stoker."),
    }
    names = [_name(step) for step in _steps(found.get("transform"), 0)]
    return {"reader": _name(reader[0]), "transforms": names[:32], "own": [part for part in parts if not parts[part]]}


_SAMPLERS = ("torch.utils.data.sampler.RandomSampler", "torch.utils.data.sampler.SequentialSampler", "torch.utils.data.distributed.DistributedSampler")


def _steps(transform, depth):
    """The transforms in order, with those of a Compose inside one another."""
    inside = getattr(transform, "__dict__", {})
    if depth < 8 and type(transform).__name__ == "Compose" and type(transform).__module__.startswith("torchvision."):
        inner = inside.get("transforms")
    elif depth < 8 and _name(type(transform)) == "torch.nn.modules.container.Sequential":
        inner = list((inside.get("_modules") or {}).values())
    else:
        return [] if transform is None else [transform]
    return [step for part in inner for step in _steps(part, depth + 1)] if isinstance(inner, (list, tuple)) else [transform]


def _name(thing):
    """module.name of a class or a function, of its class where it is neither."""
    if not isinstance(thing, type) and type(thing).__name__ != "function":
        thing = type(thing)
    return ("%s.%s" % (thing.__module__, thing.__qualname__))[:120]


def _stoker_settings(own, fed):
    """The settings of a stoker.DataLoader that is fed. What its arguments have no effect on is left out."""
    feeder = vars(fed["feeder"])
    spec, options = feeder["spec"], feeder["_options"]
    opened = getattr(feeder["_session"], "opened", {})
    threads = options.get("threads")  # of all ranks of the node
    settings = {"kind": "stoker", "num_workers": max(1, threads // feeder["place"].local_world) if threads else None, "pin_memory": own.get("pin_memory")}
    settings.update(persistent_workers=True, in_order=True, batch_size=spec["batch"], drop_last=spec["tail"] == "drop", start_method=None)
    settings.update(dataset=type(own.get("dataset")).__name__, iterable=False, length=opened.get("samples"), shuffle=spec["shuffle"])
    settings.update(fast=spec["fast"], normalize_on_device=fed.get("numbers") is not None)
    settings["file"], settings["line"] = _users_line()
    settings["exact"], settings["collates"] = settings["drop_last"], True
    return settings


_SETTINGS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "in_order", "drop_last")


def _plain(value):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if type(value).__module__ == "numpy" and hasattr(value, "__index__"):
        return value.__index__()
    return _text(value)


def _start_method(context):
    if context is not None:
        return _text(getattr(context, "_name", None))
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return None
    # allow_none: to ask without it would fix the default, and a later set_start_method of the program would fail.
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def _length(sampler, dataset):
    """len(dataset), asked only where torch's sampler asks for it as well when an iterator is made."""
    if type(sampler).__name__ not in ("SequentialSampler", "RandomSampler", "DistributedSampler"):
        return None
    if not type(sampler).__module__.startswith("torch.utils.data."):
        return None
    try:
        with sys.modules["torch"]._C.DisableTorchFunction():  # a mode of the user's would see one size() more
            return len(dataset)
    except Exception as error:
        if _raised_by_signal_handler(error):
            raise
        return None


def _shuffles(sampler, batch_sampler):
    if not type(batch_sampler).__module__.startswith("torch.utils.data.") and batch_sampler is not None:
        return None  # who knows
    name = type(sampler).__name__
    if name == "DistributedSampler":
        return _plain(vars(sampler).get("shuffle"))
    return {"SequentialSampler": False, "RandomSampler": True}.get(name)


def _users_line():
    """File and line of the innermost frame that is neither ours nor of a loader's package."""
    frame = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if not _is_ours(frame) and package not in _PACKAGES:
            return frame.f_code.co_filename[:500], frame.f_lineno
        frame = frame.f_back
    return None, None


_PACKAGES = ("torch", "stoker", "ray", "nvidia", "spdl", "tensorflow", "grain")


def _precision(torch):
    """Asks torch._C: the public getters warn, or raise where a program mixes the old settings with the new."""
    core = torch._C
    try:
        matmul = {"tf32": "high", "bf16": "medium"}.get(core._get_fp32_precision_getter("cuda", "matmul"), "highest")
    except (AttributeError, RuntimeError):  # before torch 2.9
        get = getattr(core, "_get_float32_matmul_precision", None)
        matmul = get() if get is not None else None
    get = getattr(core, "_get_cudnn_benchmark", None)
    # The asking thread is seldom inside autocast, even where all of the model is: False would say too much.
    autocast = torch.is_autocast_enabled() or "precision" in _parts and _parts["precision"].autocasts or None
    return {"matmul": matmul, "cudnn_benchmark": get() if get is not None else None, "autocast": autocast}


# ---------------------------------------------------------------------------------------------------------------------
# Looking at a batch, without running code of the user's and without keeping it.


def _samples(torch, loader, batch):
    """The number of samples in a batch if it is plain to see, else None."""
    if loader.exact:
        return loader.batch_size
    if not loader.collates:
        return None  # one sample, or a batch that the dataset made: who knows
    first = _first(batch)
    for found in (batch, first):
        if isinstance(found, torch.Tensor):
            return _rows(torch, found)
    # Lists of lists: the samples may be the inner or the outer ones.
    if loader.batch_size in (_len(batch), _len(first)):
        return loader.batch_size
    return None


def _rows(torch, tensor):
    try:
        with torch._C.DisableTorchFunction():  # the batch may be a subclass of the user's, with code of its own
            rows = tensor.shape[0] if tensor.dim() else None
    except RuntimeError:  # of a layout without a plain shape
        return None
    return rows if type(rows) is int else None


def _first(batch):
    for found in _children(batch):
        return found
    return None


def _len(batch):
    return len(batch) if type(batch) in (list, tuple) else -1


def _children(thing):
    """What is nested in a container, through the methods of the plain types only."""
    if isinstance(thing, dict):
        return dict.values(thing)
    if isinstance(thing, list):
        return list.__iter__(thing)
    if isinstance(thing, tuple):
        return tuple.__iter__(thing)
    own = getattr(type(thing), "__dictoffset__", 0) and not isinstance(thing, type) and object.__getattribute__(thing, "__dict__")
    return list(dict.values(own)) if own else ()


def _describe_batch(state, loader, batch):
    torch = state.torch
    tensors, size, largest, dtype, ask = 0, 0, -1, None, None
    with torch._C.DisableTorchFunction():
        for found in _walk(torch, batch):
            nbytes = _nbytes(torch, found)
            tensors, size = tensors + 1, size + nbytes
            if nbytes > largest:
                largest, dtype = nbytes, str(found.dtype).replace("torch.", "")
                ask = found if isinstance(found, torch.Tensor) else None
        pinned = _pinned(state, loader, ask)
    record = {"k": "batch", "loader": loader.number, "bytes": size, "samples": _samples(torch, loader, batch)}
    state.channel.put(_json(dict(record, dtype=dtype, pinned=pinned, tensors=tensors)))


def _walk(torch, batch):
    """Yield the tensors and arrays in a batch: of at most 1,000 things, at most 6 levels deep, each once."""
    left, seen, nodes = [(batch, 0)], set(), 0
    while left and nodes < WALK_NODES:
        thing, depth = left.pop()
        nodes += 1
        if id(thing) in seen or thing is None or isinstance(thing, (str, bytes, int, float)):
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor) or (type(thing).__name__ == "ndarray" and type(thing).__module__ == "numpy"):
            yield thing
        elif depth < 6:
            for child in _children(thing):
                left.append((child, depth + 1))
                if len(left) >= WALK_NODES:
                    break


def _nbytes(torch, found):
    if not isinstance(found, torch.Tensor):
        return found.nbytes
    try:
        return int(found.numel() * found.element_size())
    except (RuntimeError, TypeError):  # of a layout without a plain size
        return 0


def _pinned(state, loader, tensor):
    if state.devices.emulated.found:
        return loader.pin_memory
    cuda = sys.modules.get("torch.cuda")
    # is_pinned would initialise CUDA, is forbidden while capturing, and is an operation that a dispatch mode would see.
    if tensor is None or cuda is None or not cuda.is_initialized() or _captures or tensor.device.type != "cpu":
        return None
    modes = getattr(state.torch._C, "_len_torch_dispatch_stack", None)
    if (modes is not None and modes()) or cuda.is_current_stream_capturing():
        return None
    return tensor.is_pinned()


# ---------------------------------------------------------------------------------------------------------------------
# Start, fork, exit.


def begin():
    """Wait for torch, where somebody wants to know and this Python is new enough."""
    global _off
    _off = sys.version_info < (3, 8) or not os.path.exists(os.environ.get("STOKER_HOOK_SOCKET", ""))
    if not _off:
        sys.meta_path.insert(0, _finder)
        for name in list(_finder.wanted):
            if name in sys.modules:
                _imported(sys.modules[name])


class _Finder(object):
    """Notices the import of some modules, on whatever way, and lets the others find them."""

    def __init__(self, wanted):
        self.wanted = wanted

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


@_guarded
def _follow(name, loader):
    """Have ourselves called when this loader has run this module; then leave no trace on it."""
    original = loader.exec_module

    def exec_module(module):
        original(module)
        if module.__name__ == name:
            _followed(module, loader, exec_module)

    loader.exec_module = exec_module


@_guarded
def _followed(module, loader, ours):
    if vars(loader).get("exec_module") is ours:
        del loader.exec_module
    _imported(module)


@_guarded
def _imported(module):
    patch = _finder.wanted.pop(module.__name__, None)
    if patch is not None:
        _start()
        patch(module)


def _start():
    """The first module of torch's was imported: this process may become one that we watch."""
    global _state, _encode
    if _state is not None:
        return
    import atexit
    import json

    _encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
    _state = _Process()
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_forked)


class _Core(object):
    """This file, as its parts see it."""

    def __getattr__(self, name):
        return globals()[name]


def _part(name):
    """Return NAME.py, another file of ours, loaded once: our folder is not on sys.path any more. Its `hook` is this one."""
    if name in _parts:
        return _parts[name]
    from importlib import util

    spec = util.spec_from_file_location("_stoker" + name, os.path.join(os.path.dirname(__file__), name + ".py"))
    part = util.module_from_spec(spec)
    part.hook = _Core()
    spec.loader.exec_module(part)
    _ours.append(vars(part))
    _parts[name] = part
    return part


@_guarded
def watch(batches):
    """What stoker.watch gives, where somebody observes; None where we are off."""
    _start()
    return _part("inputs").watch(batches)


def _patch_dataloader(module):
    _state.torch = torch = sys.modules["torch"]
    try:
        _patch(_boundary(torch, module))
    except (AttributeError, KeyError) as missing:
        raise LookupError("torch %s is not known: it has no %s" % (getattr(torch, "__version__", "?"), missing))


def _boundary(torch, module):
    """Return what to replace. What is missing raises here, and not later in a step."""
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
    _state.torch = sys.modules["torch"]
    found = [
        (module._Batches, "__next__", _next_in_place_of),
        (module._Uploaded, "__next__", _next_in_place_of),
        (module.DataLoader, "_iterate", _iter_in_place_of),  # its __iter__ may also be torch's own
    ]
    if "_note" in vars(module.Feeder):  # without it the stages of a batch are not known, and that is all
        found.append((module.Feeder, "_note", _note_in_place_of))
    _patch(found)


def _patch_optimizer(module):
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:  # else the launching thread stays unknown
        register(_after_optimizer_step)
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    if before is not None:
        before(_before_optimizer_step)


def _patch_fastai(module):
    _patch(((module.Optimizer, "step", _step_in_place_of),))


def _patch_modules(module):
    for name in ("inside", "own"):
        _part(name).patch_modules(module)
    if _state.inside is None:
        _state.look_inside()


def _patch_jax(module):
    own = _part("own")
    if _state.inside is None:
        _part("inside")
        _state.look_inside()
    own.stay_out_of_tracebacks()
    _patch(((module, "jit", own.jit_in_place_of),))


def _patch_save(name):
    def patch(module):
        _patch(((module, name, _part("own").save_in_place_of),))

    return patch


def _patch_autograd(module):
    _part("inside").patch_autograd(module)


def _compiling_in_place_of(original):
    def install_callbacks(*args, **kwargs):
        _compiles()
        return original(*args, **kwargs)

    return install_callbacks


@_guarded
def _compiles():
    """Before anything is compiled. In a sampled step as well: it is told no more."""
    if _state.inside is not None and not _parts["lend"].compiled:
        _parts["lend"].compiles()
        _state.inside.give_up()


def _patch_compiler(module):
    handler = getattr(module, "CompilationCallbackHandler", None)
    if "install_callbacks" in getattr(handler, "__dict__", ()):
        _patch(((handler, "install_callbacks", _compiling_in_place_of),))
    else:
        _compiles()  # an older torch does not say when


def _patch_old_compiler(module):
    if not os.path.exists(os.path.join(os.path.dirname(module.__file__), "callback.py")):
        _compiles()


def _patch_input(module):
    _part("inputs").patch(module)


def _note_compiler(module):
    global _is_compiling
    _is_compiling = getattr(module, "is_compiling", None)


def _patch_graphs(module):
    graph = module.CUDAGraph
    _patch(((graph, "capture_begin", _capture_begin_in_place_of), (graph, "capture_end", _capture_end_in_place_of)))


def _patch(wanted):
    """Replace all of these, or none: what is missing raises before anything was changed."""
    found = [(owner, name, owner.__dict__[name], replace) for owner, name, replace in wanted]
    for owner, name, original, replace in found:
        ours = replace(original)
        for detail in ("__module__", "__qualname__", "__doc__"):
            setattr(ours, detail, getattr(original, detail, None))
        ours._torchdynamo_disable = True  # to compiled code we are what the original was: a call it leaves alone
        _patches.append((owner, name, original, ours))
        setattr(owner, name, ours)
    _keep_from_dynamo([patch[3] for patch in _patches])


def _keep_from_dynamo(ours):
    """torch.compile must not trace our functions: it would compile anew at each of our counts."""
    frames = getattr(getattr(sys.modules.get("torch._C"), "_dynamo", None), "eval_frame", None)
    ours = [function.__code__ for function in ours + [_Collate.__call__]]
    guarded = _ask.__code__  # of all guarded functions; nothing of the user's is called below it
    if hasattr(frames, "set_code_exec_strategy"):
        action, strategy = frames._FrameAction, frames._FrameExecStrategy
        for code in ours:
            frames.set_code_exec_strategy(code, strategy(action.SKIP, action.DEFAULT))
        frames.set_code_exec_strategy(guarded, strategy(action.SKIP, action.SKIP))
    elif hasattr(frames, "skip_code"):  # before torch 2.7
        for code in ours + [guarded]:
            frames.skip_code(code)


_others = (  # what inputs.py knows
    "ray.data.iterator",
    "nvidia.dali.plugin.pytorch",
    "nvidia.dali.plugin.jax.iterator",
    "spdl.pipeline._pipeline",
    "tensorflow.python.data.ops.iterator_ops",
    "grain._src.python.data_loader",
    "grain._src.python.dataset.dataset",
)
_finder = _Finder(
    {
        _torch_name: _patch_dataloader,
        _stoker_name: _patch_stoker,
        "torch.optim.optimizer": _patch_optimizer,
        "torch.cuda.graphs": _patch_graphs,
        "torch.nn.modules.module": _patch_modules,
        "torch.autograd": _patch_autograd,
        "torch.serialization": _patch_save("save"),
        "safetensors.torch": _patch_save("save_file"),
        "fastai.optimizer": _patch_fastai,
        "jax": _patch_jax,
        "torch.compiler": _note_compiler,
        "torch._dynamo.callback": _patch_compiler,
        "torch._dynamo.convert_frame": _patch_old_compiler,
    }
)
_finder.wanted.update((name, _patch_input) for name in _others)


@_guarded
def _at_exit():
    global _off
    try:
        _state.finish()
    finally:
        _off = True


@_guarded
def _forked():
    """In a forked child: nothing of the parent's is used, and nothing of it is freed."""
    global _state
    parent = _state
    _graves.append(parent)
    if parent.inside is not None:
        parent.inside.put_back()
        _parts["own"].forget()
    _captures.clear()
    _end_trace()
    _turn[:] = 0, 0
    _state = _Process()
    if parent.channel.socket is not None:
        parent.channel.close()


def _give_way(code):
    """Undo what our import did, so that the sitecustomize is found that the program would have had without us."""
    folder = os.path.dirname(__file__)
    for path in (folder, os.environ.get("STOKER_HOOK_DIR", folder)):
        if path in sys.path:
            sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)
    me = sys.modules.pop("sitecustomize")
    if sys.modules.setdefault("_stoker_hook", me) is me:
        try:
            asked = [os.environ.get("STOKER_" + name) for name in ("APPLY", "LIVE", "LOSSES")]
            if any(asked) and sys.version_info >= (3, 8):
                _part("apply").begin(*asked)  # before ours: what it puts in place is what we time
            begin()
            if not _off:
                _keep_compiled(code)
        except Exception:
            pass  # `site` would print it


def _keep_compiled(code):
    """Write our .pyc where Python was told not to (many container images do): to compile us costs 15 ms per process.

    Only into our own private folder.
    """
    cached = __spec__.cached
    if not sys.dont_write_bytecode or not cached or os.path.exists(cached):
        return
    folder = os.path.dirname(cached)
    if os.path.dirname(folder) == os.path.dirname(__file__):
        external, source = sys.modules["_frozen_importlib_external"], os.stat(__file__)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        external._write_atomic(cached, external._code_to_timestamp_pyc(code, int(source.st_mtime), source.st_size), 0o600)


if __name__ == "sitecustomize":
    _give_way(sys._getframe().f_code)
    # The import system looks for the name once more, now without our folder. What it finds takes our place in
    # sys.modules; if it finds nothing, `site` gets the ImportError that it would have got without us.
    import sitecustomize  # noqa: F401
