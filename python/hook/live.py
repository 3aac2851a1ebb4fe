"""Tunes workers and prefetching of DataLoaders while the program trains: when an epoch begins, of what the last one measured. A part of the start-up hook.

Purpose. `stoker tune --live` names a folder in STOKER_LIVE. For each epoch it measures the time of a step, and the part of it that is waiting for a
batch; when the next one begins other settings are tried, kept where the epoch with them was faster, taken back where not. How they are set is
apply.py's: its rules say which DataLoader stays as it is, and batches are those of the program alone. Each decision is printed in a line, and
written to log.jsonl; at the end plan.json, for stoker tune --plan.
Limits. Nothing is decided within an epoch, or of one that is short. A loader whose workers were seen to draw random numbers, or to
change their data set, keeps their number.
"""

import json
import os
from _weakref import ref
from time import monotonic

from . import describe, voice

STEPS, SECONDS = 20, 2.0  # of an epoch that says something
MOST = 20_000  # steps of an epoch that are looked at
WAITING = 0.05  # of a step, from which on there is something to gain
GAIN = 0.97  # of the step's time, at which a setting stays
PREFETCH = 8  # at most
LOOKED = 2  # fetches of each worker

_folder = None
_allow = ()  # what --allow names
_kept = {}  # loaders of which something was kept, by call and data set
_followed = set()  # data sets of loaders that were iterated
_fetched = [0, 0]  # process, and its fetches so far


def begin(folder, allow):
    global _allow, _folder
    _allow, _folder = allow, folder
    import atexit

    own = os.getpid()
    atexit.register(lambda: os.getpid() == own and _followed and _sum_up())


class Loader(object):
    """The state of one DataLoader."""

    def __init__(self, wanted, loader):
        self.wanted, self.made, self.dataset = wanted, ref(loader), type(vars(loader)["dataset"]).__name__
        self.epoch = None  # the last that began
        self.epochs = 0
        self.best = None  # what was set, seconds of a step, of its wait
        self.first = None  # seconds of a step as the program has it
        self.trying = None
        self.left = ["workers", "prefetch"]  # to be tried


class Epoch(object):
    def __init__(self):
        self.asked, self.got = [], []


def follow(iterator, loader):
    """The iterator of an epoch was made."""
    loader.epoch = vars(iterator)["_stoker_epoch"] = Epoch()
    _followed.add(loader.dataset)


def next_in_place_of(original):
    def __next__(self):
        epoch = vars(self).get("_stoker_epoch")
        if epoch is None or len(epoch.got) == MOST:
            return original(self)
        asked = monotonic()
        batch = original(self)
        epoch.asked.append(asked)
        epoch.got.append(monotonic())
        return batch

    return __next__


def fetch_in_place_of(original):
    """In workers: whether samples draw, or change their data set, of the first fetches."""

    def fetch(self, index):
        if _fetched[0] != os.getpid():
            _fetched[:] = os.getpid(), 0
        _fetched[1] += 1
        if _fetched[1] > LOOKED or describe.worker_id() is None:
            return original(self, index)
        before = _look(self)
        batch = original(self, index)
        for word, was, now in zip(("draws", "state"), before, _look(self)):
            if was is None or was != now:
                _mark(word, type(_dataset_of(self)).__name__)
        return batch

    return fetch


def _dataset_of(fetcher):
    """The user's data set, for which stoker feed puts another object while a batch is fetched."""
    return vars(fetcher).get("_stoker_dataset", fetcher.dataset)


def _look(fetcher):
    """The state of generators and of the data set; None if it cannot be read, which counts as changed."""
    try:
        from . import state

        return state.chance(), state.fingerprint(_dataset_of(fetcher), fetcher.collate_fn)[0]
    except Exception:
        return None, None


def _mark(word, name):
    """Leave for the trainer what --allow has to have before another number of workers is tried."""
    try:
        open(os.path.join(_folder, "%s-%s" % (word, name)), "w").close()
    except OSError:
        pass


def _is_allowed(name):
    return not any(os.path.exists(os.path.join(_folder, "%s-%s" % (word, name))) for word in {"draws", "state"} - _allow)


def decide(loader):
    """An epoch begins: decide with which settings."""
    wanted, last = loader.wanted, loader.epoch
    loader.epochs += 1
    if last is None or len(last.got) < STEPS or last.got[-1] - last.got[0] < SECONDS or not loader.left:
        return
    if loader.trying and not wanted.on:  # apply.py has said why
        loader.left = []
        return
    measured, now, became = _measure(last), dict(wanted.own, **wanted.new), "as it is"
    if loader.trying and measured[0] > GAIN * loader.best[1]:
        became = "taken back"
        loader.left.pop(0)
    else:
        became = "kept" if loader.trying else became
        loader.best = (dict(wanted.new),) + measured
    loader.first = loader.first or measured[0]
    loader.trying = _next(loader)
    if became != "as it is" or loader.trying:
        _set(loader, dict(loader.best[0], **loader.trying))
        _tell(loader, now, measured, became)


def _measure(epoch):
    """Seconds of a step, and of its wait, in the later three quarters of an epoch."""
    late = len(epoch.got) // 4
    count = len(epoch.got) - 1 - late
    waits = [got - asked for asked, got in zip(epoch.asked[late + 1 :], epoch.got[late + 1 :])]
    return (epoch.got[-1] - epoch.got[late]) / count, sum(waits) / count


def _next(loader):
    """The settings to try besides the best, {} where nothing promises a gain."""
    new, step, wait = loader.best
    now = dict(loader.wanted.own, **new)
    workers, ahead = now["num_workers"], now["prefetch_factor"] or 2
    while loader.left and wait > WAITING * step:
        if loader.left[0] == "prefetch" and workers and ahead < PREFETCH:
            return {"prefetch_factor": 2 * ahead}
        if loader.left[0] == "workers" and _is_allowed(loader.dataset):
            loading = workers * step or wait  # of a worker, for a batch
            enough = -int(-loading // max(step - wait, step / 16))
            enough = min(enough, 2 * workers or 4, 4 * len(os.sched_getaffinity(0)))
            if enough > workers:
                return {"num_workers": enough} if workers else {"num_workers": enough, "prefetch_factor": ahead}
        loader.left.pop(0)
    return {}


def _set(loader, new):
    wanted, made = loader.wanted, vars(loader.made())
    made.update(wanted.own)
    made["_iterator"] = None  # the program's own workers, if it keeps them
    wanted.new = {name: value for name, value in new.items() if value != wanted.own[name]}
    wanted.on = bool(wanted.new or wanted.own["num_workers"])


def _tell(loader, now, measured, became):
    wanted, (step, wait) = loader.wanted, measured
    told = {"call": wanted.call, "dataset": loader.dataset, "epoch": loader.epochs - 2, "step_s": step, "wait_s": wait, "decided": became, "tries": loader.trying}
    told.update((name, now[name]) for name in ("num_workers", "prefetch_factor"))
    tries = ", ".join("%s %s -> %s" % (name, dict(wanted.own, **loader.best[0])[name], to) for name, to in loader.trying.items())
    text = "%s: epoch %d, num_workers %s, prefetch_factor %s: %.4g ms a step, %d %% of it waiting: %s"
    text %= wanted.call, told["epoch"], now["num_workers"], now["prefetch_factor"], step * 1e3, 100 * wait / step, became
    voice.say(text + (", next: " + tries if tries else ""), "live")
    if os.environ.get("RANK", "0") != "0":
        return
    with open(os.path.join(_folder, "log.jsonl"), "a") as file:
        file.write(json.dumps(told) + "\n")
    if became == "kept":
        _write_plan(wanted)


def _sum_up():
    """The program ends: what was kept, its gain, and the line to write."""
    for one in list(_kept.values()):
        live = one.live
        new, step = live.best[:2]
        line = ", ".join("%s=%s" % pair for pair in sorted(new.items()))
        voice.say("kept at %s: %s: %.2fx, %.4g -> %.4g ms a step, write DataLoader(..., %s)" % (one.call, line, live.first / step, live.first * 1e3, step * 1e3, line), "live")
    if _kept:
        voice.say("or keep the script as it is: stoker tune --plan %s -- CMD" % os.path.join(_folder, "plan.json"), "live")
    else:
        voice.say("nothing was kept: no other setting was faster, or no epoch was long enough to tell (%d steps and %g s)" % (STEPS, SECONDS), "live")


def _write_plan(wanted):
    """For stoker tune --plan: of all loaders, what was kept."""
    _kept[wanted.call, wanted.live.dataset] = wanted
    loaders = []
    for one in _kept.values():
        new = one.live.best[0]
        changes = [{"setting": name, "from": one.own[name], "to": to} for name, to in new.items()]
        loaders.append({"call": one.call, "sha256": "", "dataset": one.live.dataset, "changes": changes, "worth": None, "doubts": []})
    plan = {"plan": 1, "by": "", "of": _folder, "command": [], "loaders": loaders, "elsewhere": []}
    path = os.path.join(_folder, "plan.json")
    with open(path + ".new", "w") as file:
        json.dump(plan, file, indent=1)
    os.replace(path + ".new", path)
