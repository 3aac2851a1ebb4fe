"""Input that is no DataLoader: a part of the start-up hook.

Purpose. It times the iterators of other loaders like those of PyTorch's: Ray Data, DALI, SPDL, tf.data, Grain, and what a program
hands to stoker.watch. Of a loader that is made of others it takes the outermost. (WebDataset's WebLoader is PyTorch's DataLoader inside.)
Limits. It knows nothing of their settings or workers, nor the cost of preparing a batch.
"""

import sys

from _thread import get_native_id as native_id

from . import boundary, describe, guarded, lend

# What they are called, by the module that has them: (kind, class, the method that gives the next batch or an iterator over them).
LOADERS = {
    "ray.data.iterator": ("ray", "_IterableFromIterator", "__iter__"),
    "nvidia.dali.plugin.pytorch": ("dali", "DALIGenericIterator", "__next__"),
    "nvidia.dali.plugin.jax.iterator": ("dali", "DALIGenericIterator", "__next__"),
    "spdl.pipeline._pipeline": ("spdl", "PipelineIterator", "__next__"),
    "tensorflow.python.data.ops.iterator_ops": ("tf.data", "OwnedIterator", "__next__"),
    "grain._src.python.data_loader": ("grain", "DataLoaderIterator", "__next__"),
    "grain._src.python.dataset.dataset": ("grain", "_OutputIterDataset", "__iter__"),
}
describe.packages.update(module.partition(".")[0] for module in LOADERS)

_kinds = {}  # kind by class
_asking = set()  # threads that are within the next() of such a loader


class Watched(object):
    """An iterator whose batches are timed. All else is its own."""

    def __init__(self, batches, kind):
        self._batches, self._kind = batches, kind

    def __iter__(self):
        return self

    def __next__(self):
        return _next(self, self._batches.__next__)

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "_batches"), name)


def _next(iterator, get):
    step = _ask(iterator)
    try:
        batch = get()
    except BaseException as error:
        if step is not None:
            _end_of_data(step, error)
        raise
    if step is not None:
        _got(step, batch)
    return batch


@guarded
def _ask(iterator):
    ident = native_id()
    if ident in _asking:
        return None  # a loader that this one is made of
    _asking.add(ident)
    return boundary.ask(iterator)


@guarded
def _got(step, batch):
    _asking.discard(native_id())
    boundary.got(step, batch)


@guarded
def _end_of_data(step, error):
    _asking.discard(native_id())
    boundary.end_of_data(step, error)


def settings(iterator):
    """The record of an iterator's loader; None of another kind."""
    kind = iterator._kind if type(iterator) is Watched else _kind(type(iterator))
    if kind is None:
        return None
    told = dict.fromkeys(describe.SETTINGS + ("batch_size", "start_method", "length", "shuffle"))
    told.update(kind=kind, iterable=True, dataset=type(getattr(iterator, "_batches", iterator)).__name__, exact=False, collates=True)
    told["file"], told["line"] = describe.users_line()
    return told


def _kind(cls):
    for base in cls.__mro__:
        if base in _kinds:
            return _kinds[base]
    return None


def patch(module):
    kind, name, method = LOADERS[module.__name__]
    owner = vars(module).get(name)
    if owner is None or method not in vars(owner):
        return  # another version: unseen
    _kinds[owner] = kind
    iter_in_place_of = _end_in_place_of if name == "_OutputIterDataset" else _iter_in_place_of
    lend.put_in_place(((owner, method, _next_in_place_of if method == "__next__" else iter_in_place_of),))


def _next_in_place_of(original):
    def __next__(self):
        return _next(self, lambda: original(self))

    return __next__


def _iter_in_place_of(original):
    def __iter__(self):
        return Watched(iter(original(self)), _kind(type(self)))

    return __iter__


# Grain's IterDataset: the iterator at the end of a pipeline is of the same classes as those before it, which are asked once a
# sample, in separate threads. It keeps its class, because checkpoints ask for its class.


def _end_in_place_of(original):
    def __iter__(self):
        iterator = original(self)
        _mark_end(iterator)
        return iterator

    return __iter__


@guarded
def _mark_end(iterator):
    processes = sys.modules.get("grain._src.python.dataset.transformations.process_prefetch")
    if processes is None or processes.is_in_worker_process():
        return
    owner = next(cls for cls in type(iterator).__mro__ if "__next__" in vars(cls))
    if owner not in _kinds:
        _kinds[owner] = "grain"
        lend.put_in_place(((owner, "__next__", _next_at_the_end),))
    iterator._stoker_end = True


def _next_at_the_end(original):
    def __next__(self):
        if "_stoker_end" not in vars(self):
            return original(self)
        return _next(self, lambda: original(self))

    return __next__


class _Each(object):
    """What stoker.watch makes of something to iterate over. All else is its own."""

    def __init__(self, batches):
        self._batches = batches

    def __iter__(self):
        return Watched(iter(self._batches), "watched")

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "_batches"), name)


class _Sized(_Each):
    def __len__(self):
        return len(self._batches)


def watch(batches):
    loaders = tuple(vars(sys.modules[name])["DataLoader"] for name in (describe.TORCH, describe.STOKER) if name in sys.modules)
    if isinstance(batches, loaders + (Watched, _Each)) or _kind(type(batches)) is not None:
        return batches  # is seen as it is
    if hasattr(type(batches), "__next__"):
        return Watched(batches, "watched")
    return (_Sized if hasattr(type(batches), "__len__") else _Each)(batches)


describe.others.append(settings)
