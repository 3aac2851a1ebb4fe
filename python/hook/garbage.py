"""Times Python's collections of garbage, which hold the launching thread. A part of the start-up hook."""

import gc
from time import monotonic_ns

from . import guarded, now


class Collections(object):
    """Sums over all collections of this process."""

    def __init__(self):
        self.count = self.wall = self.began = self.reported = 0

    def report(self, to):
        if self.wall == self.reported or not (to.greeted or to.first or to.records):  # a process with nothing else to tell tells nothing
            return
        self.reported = self.wall
        to.put('{"k":"garbage","count":%d,"wall":%d}' % (self.count, self.wall))


@guarded
def _collect(phase, info):
    sums = now.state.collections
    if phase == "start":
        sums.began = monotonic_ns()
    elif sums.began:
        sums.count += 1
        sums.wall += monotonic_ns() - sums.began
        sums.began = 0


def begin():
    if _collect not in gc.callbacks:
        gc.callbacks.append(_collect)
