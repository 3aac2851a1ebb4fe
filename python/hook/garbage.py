"""Times Python's collections of garbage, which hold the launching thread. A part of the start-up hook."""

import gc
import sys
from time import monotonic_ns

from . import guarded, now

SECOND = 1000000000  # ns
MUCH = 0.1  # share of the time, from which they are told of a loop that the hook knows nothing else of


class Collections(object):
    """Sums over all collections of this process."""

    def __init__(self):
        self.count = self.wall = self.began = self.reported = 0
        self.told = monotonic_ns()

    def report(self, to):
        if self.wall == self.reported or not (to.greeted or to.first or to.records):  # a process with nothing else to tell tells nothing
            return
        self.put(to)

    def put(self, to):
        self.reported = self.wall
        to.put('{"k":"garbage","count":%d,"wall":%d}' % (self.count, self.wall))

    def tell(self, state, t):
        """Each second of a loop without steps that uses a device, where they take much of it: nothing else is sent meanwhile."""
        much = self.wall - self.reported >= MUCH * (t - self.told)
        self.told = t
        if much and t - state.channel.flushed >= SECOND and _uses_device(state, t):
            self.put(state.channel)
            state.channel.flush(state, t)


def _uses_device(state, t):
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return bool(state.devices.emulated.present(t)) or cuda is not None and cuda.is_initialized()


@guarded
def _collect(phase, info):
    state = now.state
    sums = state.collections
    if phase == "start":
        sums.began = monotonic_ns()
    elif sums.began:
        t = monotonic_ns()
        sums.count += 1
        sums.wall += t - sums.began
        sums.began = 0
        if t - sums.told >= SECOND:
            sums.tell(state, t)


def begin():
    if _collect not in gc.callbacks:
        gc.callbacks.append(_collect)
