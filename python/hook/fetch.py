"""Fetching: what a batch costs to prepare, in the process that prepares it. A part of the start-up hook."""

import sys
from time import monotonic_ns, thread_time_ns

from . import channel, describe, guarded, now

TIMED_FETCHES = 32  # all of these are timed, and of quick ones one in eight after that: the mean is what counts
QUICK_NS = 10 * channel.MS

SLOW_NS = 100 * channel.MS  # a fetch is slow from here on, if it also takes SLOW_TIMES the mean of its process
SLOW_TIMES = 4
SLOWEST = 4  # so many are sent of each process
MOST_ITEMS = 64  # in a larger batch the slow sample cannot be found

# Libraries that start threads to compute with, and the function that returns how many.
POOLS = (("torch", "torch", "get_num_threads"), ("opencv", "cv2", "getNumThreads"))


def threads_of_libraries():
    """Return how many threads each library of this process computes with."""
    asked = ((name, getattr(sys.modules.get(module), ask, None)) for name, module, ask in POOLS)
    return {name: int(ask()) for name, ask in asked if ask is not None}


class Collate(object):
    """Replaces collate_fn on one fetcher, in the process that fetches. The DataLoader keeps the user's own."""

    __slots__ = ("user",)

    def __init__(self, user):
        self.user = user

    def __call__(self, samples):
        if now.off or now.turn[0] & now.turn[1]:
            return self.user(samples)
        started = monotonic_ns()
        batch = self.user(samples)
        _end_collate(samples, started)
        return batch


class Fetches(object):
    """Sums over all fetches of this process."""

    def __init__(self):
        self.count = self.wall = self.cpu = self.collate = self.samples = self.reported = 0
        self.wall2 = 0.0
        self.worker = None
        self.looked, self.drew = 0, set()
        self.slowest, self.slower = [], False  # the slowest fetches as [wall, indices of the samples], and whether one is new
        self.threads = None  # of libraries, as they were reported

    def report(self, to):
        if self.count == self.reported:
            return
        self.reported = self.count
        to.put(
            '{"k":"fetch","worker":%s,"count":%d,"wall":%d,"cpu":%d,"collate":%d,"wall2":%.9g,"samples":%d,"looked":%d,"drew":%s}'
            % (channel.encode(self.worker), self.count, self.wall, self.cpu, self.collate, self.wall2, self.samples, self.looked, channel.encode(sorted(self.drew)))
        )
        if self.slower:
            self.slower = False
            to.put('{"k":"slow","fetches":%s}' % channel.encode(self.slowest))
        if self.worker is not None:
            self.report_threads(to)

    def report_threads(self, to):
        threads = threads_of_libraries()
        if threads != self.threads:
            self.threads = threads
            to.put('{"k":"threads","pools":%s}' % channel.encode(threads))

    def keep_slow(self, wall, indices):
        """Keep a fetch that took far longer than the others, with the numbers of its samples."""
        if wall * self.count < SLOW_TIMES * self.wall or self.count < TIMED_FETCHES or type(indices) is not list:
            return
        items = [index for index in indices[:MOST_ITEMS] if type(index) is int]
        if items and len(indices) <= MOST_ITEMS and (len(self.slowest) < SLOWEST or wall > self.slowest[-1][0]):
            self.slowest = sorted(self.slowest + [[wall, items]], reverse=True)[:SLOWEST]
            self.slower = True


class Feed(object):
    """Sums over the batches that stoker feed made for this process."""

    STAGES = ("read", "decode", "transform")

    def __init__(self):
        self.count = self.samples = self.reported = 0
        self.seconds = [0.0, 0.0, 0.0]

    def report(self, to):
        if self.count == self.reported:
            return
        self.reported = self.count
        stages = tuple(int(seconds * channel.SECOND) for seconds in self.seconds)
        to.put('{"k":"feed","count":%d,"samples":%d,"read":%d,"decode":%d,"transform":%d}' % ((self.count, self.samples) + stages))


class Cluster(object):
    """Sums over the batches of workers in a Ray cluster, which stoker feed --ray keeps by node."""

    MODULES = ("stoker.remote.figures", "_stoker.remote.figures")
    MOST = 16  # nodes in a packet's records; those with the most workers

    def __init__(self):
        self.reported = {}

    def report(self, to):
        for name in self.MODULES:
            module = sys.modules.get(name)
            nodes = sorted(vars(module).get("nodes", {}).items(), key=lambda node: -node[1].workers) if module else ()
            for node, sums in nodes[: self.MOST]:
                if self.reported.get(node) != sums.batches:
                    self.reported[node] = sums.batches
                    to.put(channel.encode_record(_remote_record(node, sums)))


def _remote_record(node, sums):
    seconds = {name: int(getattr(sums, name) * channel.SECOND) for name in ("fetch", "cpu", "moved")}
    sizes = {name: getattr(sums, name) for name in ("workers", "ahead", "bytes", "store", "spilled")}
    return dict(seconds, k="remote", node=node, count=sums.batches, **sizes)


@guarded
def note_fed(packet):
    feed, times = now.state.feed, packet.get("t")
    if times is None:
        return
    feed.count += 1
    feed.samples += packet["count"]
    feed.seconds = [sum + times[stage] for sum, stage in zip(feed.seconds, feed.STAGES)]


@guarded
def begin_fetch():
    before = None
    if now.state.fetches.looked < TIMED_FETCHES:
        from . import state

        before = state.chance()
    return monotonic_ns(), thread_time_ns(), before


@guarded
def end_fetch(fetcher, started, indices):
    if started is None:
        return
    t, cpu = monotonic_ns(), thread_time_ns()
    state = now.state
    fetches = state.fetches
    wall = t - started[0]
    fetches.count += 1
    fetches.wall += wall
    fetches.cpu += cpu - started[1]
    fetches.wall2 += (wall / channel.SECOND) ** 2
    if started[2] is not None:
        chance = now.parts["state"]
        fetches.looked += 1
        fetches.drew.update(chance.name_used(started[2], chance.chance()))
    if fetches.count >= TIMED_FETCHES:
        now.turn[1] = 7 if fetches.wall < fetches.count * QUICK_NS else 0
    if not fetcher.auto_collation:
        fetches.samples += 1
    if wall >= SLOW_NS:
        fetches.keep_slow(wall, indices)
    if t - state.channel.flushed >= channel.FLUSH_NS:
        worker = describe.worker_id()
        if worker is not None:  # elsewhere the asking thread flushes
            if fetches.worker is None:
                state.finish_with_worker()
            fetches.worker = worker
            state.flush(t)


@guarded
def time_collate(fetcher):
    fetcher.collate_fn = Collate(fetcher.collate_fn)


@guarded
def _end_collate(samples, started):
    fetches = now.state.fetches
    fetches.collate += monotonic_ns() - started
    if type(samples) is list:
        fetches.samples += len(samples)
