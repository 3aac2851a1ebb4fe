"""All that the hook knows in one process: its loaders and iterators, the work of each second, a fork and the end. A part of the start-up hook."""

import os
import sys
from _weakref import ref
from time import monotonic_ns

from . import boundary, channel, describe, device, fetch, garbage, guarded, now, part, tell_ending

SIZES = 3  # data sets of other sizes, from which a loader that equals theirs else is made again, as for a subset that grows [J]
ALIKE = 256  # kinds of loaders that are known again; the reader keeps as many


class _Process(object):
    """All that the hook knows in one process. A forked child begins with an empty one."""

    def __init__(self):
        self.torch = sys.modules.get("torch")
        self.channel = channel.Channel(describe.hello)
        self.devices = device.Devices()
        self.loaders = describe.ByObject()
        self.alike = {}  # settings, as text: the loaders that had them
        self.sizes = {}  # the same without the size of the data set
        self.optimizers = describe.ByObject()
        self.fetches = fetch.Fetches()
        self.feed = fetch.Feed()
        self.cluster = fetch.Cluster()
        self.collections = garbage.Collections()
        garbage.begin()
        self.tracks = {}  # iteration number: (weak reference to it, track)
        self.loader_count = 0
        self.iteration_count = 0
        self.optimizer_steps = 0
        self.replays = False  # an optimizer stepped inside a capture: the graph steps it from then on, unseen
        self.optimized = 0  # when that was last reported
        self.second = 0  # when the duties of each second were last done
        self.precision = None
        self.inside = self.own = self.requests = self.replica = None
        if "inside" in now.parts:
            self.look_inside()
        if "serving" in now.parts and now.parts["serving"].watched:
            self.serve()

    def look_inside(self):
        self.inside = now.parts["inside"].Inside(self)
        self.own = now.parts["own"].Own(self, self.inside)

    def serve(self):
        self.requests = now.parts["serving"].Requests(self, monotonic_ns())

    def meet(self, loader, iterator, t):
        """Give a new DataLoader a number and report its settings."""
        known = self.new_loader(describe.settings_of(loader, iterator), t)
        self.loaders.put(loader, known)
        return known

    def adopt(self, iterator, t):
        """An iterator that was not made by iter(loader), or in our parent before a fork."""
        if self.own is not None:
            self.own.only_steps()
        return self.iterate(self.new_loader(describe.settings_of(None, iterator), t), iterator)

    def new_loader(self, settings, t):
        """A loader that equals one that is no longer in use is that one: most scripts make theirs again in each epoch."""
        looks = channel.encode_record(settings)
        if len(self.alike) < ALIKE:
            self.alike.setdefault(looks, [])
        alike = self.alike.get(looks, [])
        sizes = self.sizes.setdefault(channel.encode_record(dict(settings, length=None)), []) if len(self.sizes) < ALIKE else []
        for known in alike + (sizes[SIZES - 1 :] if len(sizes) >= SIZES else []):
            if not self.in_use(known):
                known.mark = None  # of another data set
                self.tell_anew(known, settings, t)
                if known not in alike:
                    self.tell_changes(known)
                return known
        known = boundary.Loader()
        alike.append(known)
        sizes.append(known)
        known.number, known.iterations, known.count, known.described = self.loader_count, 0, 0, 0
        self.loader_count += 1
        known.collates = settings.pop("collates")
        known.exact = settings.pop("exact")
        known.batch_size, known.pin_memory = settings["batch_size"], settings["pin_memory"]
        known.mark, known.changes = None, False
        known.reason, known.reasoned, known.anew = None, 0, settings.get("kind") not in (None, "stoker")  # of others nothing tells
        self.channel.put_first(dict(settings, k="loader", loader=known.number, t=t))
        return known

    def tell_anew(self, known, settings, t):
        if not known.anew:
            known.anew = True
            told = {name: value for name, value in settings.items() if name not in ("collates", "exact")}
            self.channel.put_first(dict(told, k="loader", loader=known.number, t=t, anew=True))

    def tell_changes(self, known):
        """The program changed the data set between two epochs: workers that persist would not see it."""
        if known.changes:
            return
        known.changes = True
        self.channel.put_first({"k": "changes", "loader": known.number})

    def in_use(self, known):
        """Whether a DataLoader of that number is still there, or an iterator of it that has not ended."""
        iterations = (iteration() for iteration, track in list(self.tracks.values()) if not track.ended)
        return self.loaders.holds(known) or any(one is not None and one.loader is known for one in iterations)

    def iterate(self, known, iterator):
        iteration = boundary.Iteration()
        iteration.state, iteration.loader, iteration.number = self, known, known.iterations
        known.iterations += 1
        iteration.track = boundary.Track()
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
        optimized = self.optimizer_steps - step.optimized if period else 0
        if not period or self.replays and not optimized:
            optimized = "null"  # not known
        self.channel.put((channel.STEP, (step.loader.number, step.iter, step.n, step.t, step.waited, period, first, grad, step.tid, samples, optimized)))
        self.devices.close(self, step, end)

    def after_step(self, t):
        """The duties that can wait until the clocks were read."""
        if t - self.second >= channel.SECOND:
            self.second = t
            self.sweep()
            if self.torch is not None:
                self.report_precision()
            self.devices.report_memory(self)
            _look_for_requests(self)
        if t - self.channel.flushed >= (channel.FLUSH_NS if self.requests is None else channel.SERVER_FLUSH_NS) or len(self.channel.records) >= channel.FLUSH_RECORDS:
            self.flush(t)

    def flush(self, t):
        self.fetches.report(self.channel)
        self.feed.report(self.channel)
        self.cluster.report(self.channel)
        self.collections.report(self.channel)
        self.channel.flush(self, t)

    def finish_with_worker(self):
        """A forked worker leaves through os._exit: atexit does not run there, finalizers of multiprocessing do."""
        from multiprocessing import util

        util.Finalize(None, at_exit, exitpriority=0)

    def report_precision(self):
        found = describe.precision_of(self.torch)
        if found != self.precision:
            self.precision = found
            self.channel.put(channel.encode_record(dict(found, k="precision")))

    def finish(self):
        if now.tracer is not None:
            now.tracer.give_up("the program ended before its steps were traced")
        for iteration, track in list(self.tracks.values()):
            self.close_open(track)
        self.tracks.clear()
        self.devices.read(self, monotonic_ns(), len_limit=device.PENDING_PAIRS)
        self.flush(monotonic_ns())
        self.channel.close()


def _look_for_requests(state):
    """`observe` asks for something by a file next to its socket: the socket carries only the hook's packets."""
    folder, ask = os.path.dirname(os.environ.get("STOKER_HOOK_SOCKET", "")), "-%d.ask" % os.getpid()
    trace, log = os.path.join(folder, "trace" + ask), os.path.join(folder, "log" + ask)
    if now.tracer is None and os.path.exists(trace):
        now.tracer = part("trace").Tracer(folder, _request(trace))
    if os.path.exists(log):
        part("log").log(state, _request(log))


def _request(path):
    """Read and remove the file that asks: this user must own it."""
    import json

    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(handle) as file:
        if os.fstat(file.fileno()).st_uid != os.geteuid():
            raise ValueError("%s is another user's" % os.path.basename(path))
        request = json.load(file)
    os.unlink(path)
    return request


def start():
    """The first module of torch's was imported: this process may become one that we watch."""
    if now.state is not None:
        return
    import atexit

    now.imports = describe.users_line()
    now.state = _Process()
    atexit.register(at_exit)
    os.register_at_fork(after_in_child=_after_fork)


@guarded
def at_exit():
    try:
        tell_ending()
        now.state.finish()
    finally:
        now.off = True


@guarded
def _after_fork():
    """In a forked child: nothing of the parent's is used, and nothing of it is freed."""
    parent = now.state
    now.graves.append(parent)
    if parent.inside is not None:
        parent.inside.put_back()
        now.parts["own"].forget()
    now.captures.clear()
    now.tracer = None
    now.turn[:] = 0, 0
    now.imports = None, None
    now.state = _Process()
    if parent.channel.socket is not None:
        parent.channel.close()
