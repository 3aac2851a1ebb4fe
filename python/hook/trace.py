"""A part of the hook: has PyTorch's own profiler write a trace of a few steps, once, where `stoker observe` asks for it.

Purpose. `observe` puts a file trace-PID.ask into the folder of its socket: {"steps": n, "stacks": bool, "shapes": bool},
of which the last two may be missing. From the next boundary on n steps
are profiled in the thread that crosses it, the trace is written to trace-PID.json there, then trace-PID.told:
{"from": ns, "to": ns, "steps": n, "why": text} (CLOCK_MONOTONIC; why is the reason for having no trace, else null).
Limits. Without that file nothing of it runs. It starts no thread, and does not touch
the program's own profiler: where there is one none is taken, and one that comes meanwhile has ours end first.
Neighbours. process.py loads it; observe/trace_linux.go asks and keeps the file.
"""

import json
import os
import sys

from _thread import get_native_id as native_id
from time import monotonic_ns

from . import guard, now

MOST_STEPS = 1000


class Tracer(object):
    """One trace of this process, as the request says. Its boundaries are crossed in the program's thread, in the guard of hook.py."""

    def __init__(self, folder, request):
        self.base = os.path.join(folder, "trace-%d." % os.getpid())
        self.steps = self.left = max(1, min(MOST_STEPS, int(request["steps"])))
        self.holds = {"with_stack": request.get("stacks") is True, "record_shapes": request.get("shapes") is True}
        self.tid = self.profile = self.mark = self.began = None
        self.init = None  # what tells that the program wants a profiler: its original, and ours
        self.why = None  # why it is given up; the thread that profiles has to end it

    def boundary(self, t):
        """A step ends and another begins; t is when the program came here."""
        tid = native_id()
        try:
            if self.tid is None:
                self.tid, self.began = tid, t
                self.begin()
            elif tid == self.tid:
                self.left -= 1
                if self.why is not None:
                    self.give_up(self.why)
                elif self.left <= 0:
                    self.end()
                else:
                    self.next_step()
        except Exception as error:
            if guard.raised_by_signal_handler(error):
                raise
            self.give_up("%s: %s" % (type(error).__name__, str(error)[:200]))

    def begin(self):
        why = _why_not()
        if why:
            self.tell(why)
            return
        torch = sys.modules["torch"]
        profile = torch.autograd.profiler.profile(use_kineto=True, **self.holds)
        cuda = sys.modules.get("torch.cuda")
        if cuda is not None and cuda.is_initialized():
            # Not as an argument: its name has changed, and the old one warns.
            profile.use_device = "cuda"
            profile.kineto_activities.add(torch.profiler.ProfilerActivity.CUDA)
        profile.__enter__()
        self.profile = profile
        self.watch(torch)
        self.next_step()

    def watch(self, torch):
        """The program may want to profile just now: Stoker's profiler gives way first."""
        kind = torch.autograd.profiler.profile
        original = kind.__init__

        def __init__(this, *args, **kwargs):
            self.give_up("the program began to profile by itself")
            original(this, *args, **kwargs)

        self.init = original, __init__
        kind.__init__ = __init__

    def next_step(self):
        """Mark a step. Not by torch's operator for it, which a dispatch mode of the program's would see."""
        self.close_mark()
        kind = getattr(sys.modules["torch"]._C._profiler, "_RecordFunctionFast", None)
        if kind is not None:
            self.mark = kind("ProfilerStep#%d" % (self.steps - self.left + 1))
            self.mark.__enter__()

    def close_mark(self):
        mark, self.mark = self.mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def stop(self):
        """End profiling, if it had begun."""
        profile, self.profile = self.profile, None
        if profile is None:
            return None
        original, ours = self.init
        if type(profile).__init__ is ours:
            type(profile).__init__ = original
        self.close_mark()
        profile.__exit__(None, None, None)
        return profile

    def end(self):
        path = self.base + "json"
        self.stop().export_chrome_trace(path)
        emulated = getattr(sys.modules.get("stoker.emulated"), "current", None)
        for device in emulated() if emulated is not None else ():
            device.trace(path)
        self.tell(None)

    def give_up(self, why):
        self.why = why
        if self.profile is not None and native_id() != self.tid:
            return
        try:
            self.stop()
        except Exception:
            pass  # the reason was sent already
        self.tell(why)

    def tell(self, why):
        """The last word, in one step: whoever sees it finds the trace whole."""
        base, self.base = self.base, None
        if base is None:
            return
        now.tracer = None
        told = {"from": self.began, "to": monotonic_ns(), "steps": self.steps, "why": why}
        handle = os.open(base + "part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump(told, file)
        os.rename(base + "part", base + "told")


def _why_not():
    """The reason why no trace can be taken in this process now; "" if one can."""
    profiler = sys.modules.get("torch.autograd.profiler")
    if native_id() != os.getpid():
        # libkineto belongs to the thread that loaded it ("External init callback must run in same thread"), and a daemon
        # thread that profiled has ended its process by std::terminate.
        return "batches are asked for in another thread than the main one"
    if profiler is None or not profiler.kineto_available():
        return "this PyTorch has no Kineto"
    if sys.modules["torch"]._C._autograd._profiler_enabled() or "ProfilerStep" in _step_counts(profiler):
        return "the program has a profiler of its own"
    if os.environ.get("KINETO_USE_DAEMON"):
        return "KINETO_USE_DAEMON is set: somebody else may ask for a trace at any time"
    if now.captures or now.captured:
        return "the program uses CUDA graphs, with which a profiler that begins late may fail"
    return ""


def _step_counts(profiler):
    """Who counts steps for a profiler: torch.profiler.profile does from its first line on, long before it records."""
    return getattr(getattr(profiler, "KinetoStepTracker", None), "_step_dict", ())
