"""Sets what a plan says on the DataLoaders of an unchanged program. A part of the start-up hook; inert unless STOKER_PLAN names a plan, STOKER_LIVE a folder (live.py), or STOKER_LOSSES a file (precision.py).

Purpose. A DataLoader is known by the line that makes it and by the class of its data set. When it is iterated the program gets an
iterator that draws from torch's generators what the program's own would have drawn, and takes its batches from workers that
were made with the plan's settings.
Where the program has no workers, the first batches are loaded as it does it, and watched: nothing may be drawn for them and the
data set may not change; then workers make the same batches again, and must make the same bytes. Workers that the plan keeps over epochs are
made again if the data set changed in between, as the program's own would have been.
Limits. It never raises into the program: a failure leaves the program's own settings, and one line says so.
"""

import json
import os
import sys
from _weakref import ref

from . import boundary, describe, follower, guard, voice

NAME = "torch.utils.data.dataloader"
SETTINGS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "in_order")
TRIED = 2  # batches that are loaded as the program does it before workers load them
PATIENCE = 300  # seconds for the first batch of workers
SAMPLERS = ("SequentialSampler", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "BatchSampler", "DistributedSampler")

DRAWS = "its data set draws random numbers (%s): in workers batches differ, as with another seed. --allow draws sets it all the same"

_watched = {}  # modules, and the functions that are called once they were imported
_plan = []  # its loaders
_allow = set()
_live = None  # live.py, where settings are found while the program trains
_known = None  # _Wanted by DataLoader
_shells = []  # our kind of iterator, once torch is there
_met = set()  # numbers of the plan's loaders that were made


def begin(path, folder, losses):
    """Called once, at the start of Python."""
    global _known, _live
    try:
        plan = {"loaders": []}
        if path:
            with open(path) as file:
                plan = json.load(file)
        _plan.extend(plan["loaders"])
        if folder:
            from . import live

            _live = live
            _live.begin(folder, _allow)
        _allow.update(filter(None, os.environ.get("STOKER_PLAN_ALLOW", "").split(",")))
        program = plan.get("program") or () if "precision" in _allow else ()
        if program or losses:
            from . import precision

            precision.begin(program, losses)
            _watched["torch"] = precision.patch
        if _plan or _live is not None:
            _watched[NAME] = _patch
        _known = describe.ByObject()
        sys.meta_path.insert(0, _Finder())
    except Exception as error:
        voice.say("CMD runs with its own settings: read plan %s: %s" % (path or folder, error))


class _Finder(object):
    """Has modules watched. The others find them: but for the hook's own, which comes before us and wraps what we give."""

    def find_spec(self, name, path=None, target=None):
        if name not in _watched:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self and finder is not follower else None
            if spec is not None:
                _watch(spec.loader, name)
                return spec
        return None


def _watch(loader, name):
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        try:
            _watched.pop(name)(module)
        except Exception as error:  # another torch than we know
            voice.say("CMD runs with its own settings: %s: %s" % (type(error).__name__, error))

    loader.exec_module = exec_module


def _patch(module):
    import atexit

    torch = sys.modules["torch"]
    _shells.append(_shell_class(torch, module))
    kind, own = module.DataLoader, os.getpid()
    kind.__init__ = _init_in_place_of(kind.__init__)
    kind.__iter__ = _iter_in_place_of(kind.__iter__)
    if _live is not None:
        each, fetcher = module._BaseDataLoaderIter, module._utils.fetch._MapDatasetFetcher
        each.__next__, fetcher.fetch = _live.next_in_place_of(each.__next__), _live.fetch_in_place_of(fetcher.fetch)
    atexit.register(lambda: os.getpid() == own and _unmet())


def _unmet():
    for number, entry in enumerate(_plan):
        if number not in _met:
            voice.say("no DataLoader over %s was iterated that %s makes: its settings were not needed" % (entry["dataset"], entry["call"]))


# ---------------------------------------------------------------------------------------------------------------------
# Which loader gets what.


class _Wanted(object):
    """The settings that one DataLoader gets. Off if it keeps its own."""

    def __init__(self, call, own):
        self.call, self.own, self.new = call, own, {}
        self.on = False
        self.live = None  # what live.py knows of it
        self.tried = []  # (indices, digest) of batches that were loaded as the program does it
        self.before = None  # fingerprint before them
        self.switched = False  # workers have made the same
        self.workers = self.mark = self.last = None  # of workers that are kept: their iterator, the data set then, who used them last

    def leave(self, why):
        self.on, self.workers = False, None
        voice.say("%s: left as it is: %s" % (self.call, why))


def _decision_for(loader):
    known = _known.get(loader)
    if known is None:
        known = _decide(loader)
        _known.put(loader, known)
    if known.live is not None:
        _live.decide(known.live)
    return known if known.on else None


def _decide(loader):
    own = vars(loader)
    place = describe.calls.get(loader) or ("?", 0)
    wanted = _Wanted("%s:%s" % place, {name: own.get(name) for name in SETTINGS})
    if type(loader).__module__.startswith("stoker.") or _in_a_worker():
        return wanted
    for number, entry in enumerate(_plan):
        if entry["call"] == wanted.call and entry["dataset"] == type(own.get("dataset")).__name__:
            _met.add(number)
            _choose(loader, wanted, entry["changes"])
            break
    if _live is not None:
        wanted.new = {"num_workers": None}
        why, wanted.new = _unfit(loader, wanted), {}
        if why:
            wanted.leave(why)
        else:
            wanted.live = _live.Loader(wanted, loader)
    return wanted


def _in_a_worker():
    process = sys.modules.get("multiprocessing.process")
    return describe.worker_id() is not None or process is not None and process.current_process().daemon


def _choose(loader, wanted, changes):
    for change in changes:
        name, was, to = change["setting"], change.get("from"), change["to"]
        found = wanted.own.get(name)
        if name not in SETTINGS:
            continue  # `stoker tune --plan` has told of it
        if was is not None and found != was:
            wanted.leave("%s is %r here, and %r in the plan" % (name, found, was))
            return
        if found != to:
            wanted.new[name] = to
    after = dict(wanted.own, **wanted.new)
    if not after["num_workers"]:
        for name in ("prefetch_factor", "persistent_workers", "in_order"):
            wanted.new.pop(name, None)
    elif after["prefetch_factor"] is None:
        wanted.new["prefetch_factor"] = 2  # torch's own
    why = _unfit(loader, wanted)
    if why:
        wanted.leave(why)
    elif wanted.new:
        wanted.on = True
        voice.say("%s: %s" % (wanted.call, ", ".join("%s %s -> %s" % (name, wanted.own[name], to) for name, to in wanted.new.items())))


def _unfit(loader, wanted):
    """Why the settings cannot be set here, None where they can."""
    own, module = vars(loader), sys.modules[NAME]
    if own.get("_dataset_kind") == module._DatasetKind.Iterable or isinstance(own.get("dataset"), module.MapDataPipe):
        return "the data set is iterable: which samples there are, and when, depends on its workers"
    strange = [type(part) for part in (own.get("sampler"), own.get("batch_sampler")) if part is not None and not _torchs(type(part))]
    if strange and "order" not in _allow:
        return "its %s may draw or decide as the training goes, and would be asked earlier: --allow order sets it all the same" % strange[0].__name__
    if not wanted.own["num_workers"] and "num_workers" in wanted.new and describe.start_method(own.get("_DataLoader__multiprocessing_context")) != "fork":
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        with open(main or os.devnull) as file:
            if "__main__" not in file.read():
                return 'workers would run the script again: it needs if __name__ == "__main__"'
    return None


def _torchs(kind):
    return kind.__name__ in SAMPLERS and kind.__module__.startswith("torch.utils.data.")


# ---------------------------------------------------------------------------------------------------------------------
# The iterator.


def _init_in_place_of(original):
    def __init__(self, *args, **kwargs):
        try:
            describe.note_call(self)
        except Exception:
            pass  # it has no line then, and stays as it is
        original(self, *args, **kwargs)

    __init__.__wrapped__ = original  # inspect shows torch's arguments
    return __init__


def _iter_in_place_of(original):
    def __iter__(self):
        wanted, made = None, None
        try:
            wanted = _decision_for(self)
            made = _shells[0].wrap(self, wanted) if wanted is not None else None
        except Exception as error:
            if guard.raised_by_signal_handler(error):
                raise
            _report_failure(wanted, error)
        iterator = original(self) if made is None else made
        known = _known.get(self)
        if known is not None and known.live is not None:
            _live.follow(iterator, known.live)
        return iterator

    __iter__.__wrapped__ = original
    return __iter__


def _report_failure(wanted, error):
    why = "%s: %s" % (type(error).__name__, str(error).strip().rpartition("\n")[2][:200])
    if wanted is not None:
        wanted.leave(why)
    else:
        voice.say("a DataLoader is left as it is: %s" % why)


class _Having(object):
    """Other values of a DataLoader's attributes, for a while."""

    def __init__(self, loader, values):
        self.own, self.values = vars(loader), values

    def __enter__(self):
        self.kept = {name: self.own[name] for name in self.values}
        self.own.update(self.values)

    def __exit__(self, *error):
        self.own.update(self.kept)


class _Rest(object):
    """The batches of an epoch that are still to come, as a sampler; before them some again. It remembers the indices that it gave until the first batch came."""

    def __init__(self, indices, again=()):
        self.indices, self.again, self.given = indices, list(again), []

    def __iter__(self):
        return self

    def __next__(self):
        if self.again:
            return self.again.pop(0)
        index = next(self.indices)
        if self.given is not None:
            self.given.append(index)
        return index

    def all(self):
        for index in self.given:
            yield index
        for index in self.indices:
            yield index


def _shell_class(torch, module):
    """Stoker's iterator: a child of torch's for no workers. A part that this torch lacks raises here."""
    alone, many = module._SingleProcessDataLoaderIter, module._MultiProcessingDataLoaderIter
    many._reset, many._next_data, many._shutdown_workers, alone._next_data, torch.default_generator.get_state, module.MapDataPipe

    class Shell(alone):
        @classmethod
        def wrap(cls, loader, wanted):
            generator = vars(loader)["generator"] or torch.default_generator
            state, again = generator.get_state(), wanted.own["persistent_workers"] and (wanted.workers is not None or wanted.live is not None and wanted.live.epochs > 1)
            try:
                with _Having(loader, dict(wanted.own, num_workers=0, timeout=0, persistent_workers=False)):
                    self = cls(loader)  # draws what the program's own iterator draws
            except BaseException:
                generator.set_state(state)
                raise
            if again:
                generator.set_state(state)  # the program's own, which keeps its workers, draws nothing then
            vars(loader).update(wanted.new)  # the program reads the settings in use
            self._profile_name = "enumerate(DataLoader)#%s.__next__" % many.__name__
            self._stoker_loader, self._stoker_wanted, self._stoker_state = loader, wanted, state
            self._stoker_many, self._stoker_rest, self._stoker_over = None, None, False
            return self

        def _next_data(self):
            try:
                if self._stoker_many is not None:
                    return self._stoker_many._next_data()
                return self._stoker_first()
            except StopIteration:
                self._stoker_over = True
                raise

        def _stoker_first(self):
            """A batch before there are workers."""
            wanted = self._stoker_wanted
            if wanted.on and "num_workers" in wanted.new and not wanted.own["num_workers"] and len(wanted.tried) < TRIED:
                return self._stoker_try()
            if wanted.on:
                try:
                    return self._stoker_switch(dict(wanted.own, **wanted.new))
                except StopIteration:
                    raise
                except Exception as error:
                    if guard.raised_by_signal_handler(error):
                        raise
                    self._stoker_back(error)
            return self._stoker_own()

        def _stoker_own(self):
            """As the program does it: from here on to the end of the epoch."""
            loader, own = self._stoker_loader, self._stoker_wanted.own
            if loader is not None:
                vars(loader).update(own)
                boundary.tell_again(loader, self)
            if not own["num_workers"]:
                self._stoker_loader = None
                return alone._next_data(self)
            rest = _Rest(self._sampler_iter)
            self._stoker_many, rest.given = self._stoker_make(own, rest), None
            return self._stoker_many._next_data()

        def _stoker_try(self):
            """Load a batch as the program does it, and see whether workers could."""
            from . import state

            wanted = self._stoker_wanted
            if wanted.before is None:
                _try_to_look(wanted, lambda: self._stoker_look(state))
            index = self._next_index()  # a sampler of torch's draws its seed here
            before = state.chance()
            batch = self._dataset_fetcher.fetch(index)
            if wanted.on:
                _try_to_look(wanted, lambda: self._stoker_judge(state, before, index, batch))
            return module._utils.pin_memory.pin_memory(batch, self._pin_memory_device) if self._pin_memory else batch

        def _stoker_look(self, state):
            wanted = self._stoker_wanted
            if "state" in _allow:
                wanted.before = True
                return
            try:
                wanted.before, files = state.fingerprint(self._dataset, self._collate_fn)
            except state.TooLarge as error:
                wanted.leave("whether its data set changes while it is read cannot be seen: %s. --allow state sets it all the same" % error)
                return
            if files:
                wanted.leave("its data set holds an open file (%s), whose place workers would share: --allow state sets it all the same" % files[0])

        def _stoker_judge(self, state, before, index, batch):
            wanted = self._stoker_wanted
            drawn = state.name_used(before, state.chance())
            if drawn and "draws" not in _allow:
                wanted.leave(DRAWS % ", ".join(drawn))
            elif "state" not in _allow and state.fingerprint(self._dataset, self._collate_fn)[0] != wanted.before:
                wanted.leave("its data set changes while it is read, and each worker would have one of its own: --allow state sets it all the same")
            else:
                wanted.tried.append((index, None if drawn else state.digest(torch, batch)))

        def _stoker_switch(self, settings):
            """The first batch of workers. Before the first of all those that were tried, which have to be the same."""
            from . import state

            wanted = self._stoker_wanted
            tried = [] if wanted.switched else [pair for pair in wanted.tried if pair[1] is not None]
            self._stoker_rest = rest = _Rest(self._sampler_iter, [index for index, _ in tried])
            many = self._stoker_kept(settings, rest)
            if many is None:  # not `or`: an iterator has a length
                many = self._stoker_make(settings, rest)
            self._stoker_many = many
            patience, many._timeout = many._timeout, many._timeout or PATIENCE
            for _, made in tried:
                if state.digest(torch, many._next_data()) != made:
                    raise ValueError("of the same samples a worker made another batch than the program itself")
            batch = many._next_data()
            many._timeout, rest.given, self._stoker_loader, wanted.switched = patience, None, None, True
            return batch

        def _stoker_kept(self, settings, rest):
            """The workers of the epoch before, where they may be used again: the data set is as it was when they began."""
            wanted, kept, mark = self._stoker_wanted, self._stoker_wanted.workers, None
            if not settings["persistent_workers"]:
                return None
            if not wanted.own["persistent_workers"]:
                from . import state

                try:
                    mark = state.fingerprint(self._dataset, self._collate_fn)[0]
                except state.TooLarge as error:
                    voice.say("%s: workers are not kept: whether the data set changes between epochs cannot be seen: %s" % (wanted.call, error))
                    settings["persistent_workers"] = False
                    return None
            last, wanted.last = wanted.last and wanted.last(), ref(self)
            same, wanted.mark, wanted.workers = mark == wanted.mark, mark, None
            fits = kept is not None and (kept._num_workers, kept._prefetch_factor) == (settings["num_workers"], settings["prefetch_factor"])
            if not fits or not same or last is not None and not last._stoker_over:
                return None
            kept._index_sampler, wanted.workers = rest, kept
            kept._reset(self._stoker_loader)
            return kept

        def _stoker_make(self, settings, rest):
            loader, generator = self._stoker_loader, torch.Generator()
            generator.set_state(self._stoker_state)  # so that the workers' seeds are those of the program's own
            sampler = "batch_sampler" if self._auto_collation else "sampler"
            with _Having(loader, dict(settings, generator=generator, **{sampler: rest})):
                made = many(loader)
            if settings["persistent_workers"]:
                self._stoker_wanted.workers = made
            return made

        def _stoker_back(self, error):
            """Workers failed before their first batch: go on as if they had never been."""
            _report_failure(self._stoker_wanted, error)
            broken, self._stoker_many = self._stoker_many, None
            self._sampler_iter = self._stoker_rest.all()
            if broken is not None:
                broken._shutdown_workers()

    Shell.__name__, Shell.__qualname__, Shell.__module__ = alone.__name__, alone.__qualname__, alone.__module__
    return Shell


def _try_to_look(wanted, look):
    """Look at what the program just did. That we cannot is a reason to leave it."""
    try:
        look()
    except Exception as error:
        if guard.raised_by_signal_handler(error):
            raise
        _report_failure(wanted, error)
