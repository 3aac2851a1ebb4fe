"""How a data set gives its samples to workers: whether more of them keep the samples. A part of the start-up hook.

Purpose. It reads the code of the data set's class, and plain attributes. It returns one word:
  index        map-style: the sampler gives each index to one worker
  own-state    what comes next is kept in the data set, and each worker has a copy: it is its own iterator, or its
               __getitem__ ignores the index
  worker-info  iterable, and its own code asks get_worker_info for the number of workers
  none         iterable, and nothing in its code asks which worker reads it: each worker reads all of it
  per-worker   a WebDataset whose with_epoch counts the samples of each worker separately
  datasets, webdataset, litdata, streaming, sharding-filter
               a library that splits, with the number of its shards if it is known
None is unknown: code that cannot be read, or that splits what a library has split already.
Limits. No code of the user's runs. A call by a name in a string, or behind C, is not seen.
"""

import sys

from . import classes, guard

MOST_OBJECTS = 500  # data sets within data sets that are looked at
MOST_CODE = 3000  # functions that are looked at
MOST_ITEMS = 64  # of a list or a dict of data sets
COUNT = "num_workers"
ASKS = {"get_worker_info", "pytorch_worker_info", "_worker_info"}
# Libraries whose streams split themselves, by the name of the class.
STREAMS = {
    "datasets.iterable_dataset.IterableDataset": "datasets",
    "litdata.streaming.dataset.StreamingDataset": "litdata",
    "litdata.streaming.combined.CombinedStreamingDataset": "litdata",
    "litdata.streaming.parallel.ParallelStreamingDataset": "litdata",
    "streaming.base.dataset.StreamingDataset": "streaming",
    "torch.utils.data.datapipes.iter.sharding.ShardingFilterIterDataPipe": "sharding-filter",
}
PIPELINE = "webdataset.pipeline.DataPipeline"
# Packages whose functions ask for no worker, and need not be read.
PLAIN = ("torch", "numpy", "PIL", "cv2", "torchvision", "pandas", "pyarrow")


def split_of(own, iterable):
    """Return (word, number of shards) of a loader's data set; own are the loader's attributes. None is unknown."""
    dataset = own.get("dataset")
    if not iterable:
        return ("own-state" if _ignores_index(classes.behind_subsets(dataset)) else "index"), None
    found = _Search().split(dataset)
    if found == ("none", None) and _asks(_functions(own.get("worker_init_fn")), None):
        return "worker-info", None  # torch's documentation has such a worker_init_fn
    return found


class _Search(object):
    """One walk through a data set and the data sets that it is made of."""

    def __init__(self):
        self.seen = set()

    def split(self, dataset):
        if id(dataset) in self.seen:
            return "none", None
        self.seen.add(id(dataset))
        if len(self.seen) > MOST_OBJECTS:
            return None, None
        names = [classes.name_of(kind) for kind in type(dataset).__mro__]
        for name in names:
            if name in STREAMS:
                return STREAMS[name], _shards_of(dataset)
        if PIPELINE in names:
            return self._split_of_pipeline(dataset)
        return self._split_of_own(dataset)

    def _split_of_own(self, dataset):
        """Of a class that no library is known for: by its code, then by the data sets that it holds."""
        kind = type(dataset)
        start = [function for name in ("__iter__", "__next__") for function in _functions(_find(kind, name))]
        if not start:
            return None, None  # nothing of it is Python
        asks = _asks(start, kind, dataset)
        inner = [self.split(part) for part in _streams_in(dataset)]
        splitting = [found for found in inner if found[0] != "none"]
        if asks is None or asks and splitting:
            return None, None
        if asks:
            return "worker-info", None
        if not splitting:
            return "own-state" if any(not _is_plain(function) for function in _functions(_find(kind, "__next__"))) else "none", None
        if len(splitting) < len(inner) or any(word is None or word != splitting[0][0] for word, _ in splitting):
            return None, None
        return splitting[0] if len(splitting) == 1 else (splitting[0][0], None)

    def _split_of_pipeline(self, dataset):
        """Of a WebDataset: a stage of its pipeline gives each worker its shards."""
        own = vars(dataset)
        stages = own.get("pipeline") or []
        if isinstance(own.get("nsamples"), int) and own["nsamples"] > 0:
            return "per-worker", None
        splits, shards = False, None
        for stage in stages:
            name = classes.name_of(type(stage))
            urls = getattr(stage, "__dict__", {}).get("urls")
            if name == "webdataset.shardlists.SimpleShardList" and isinstance(urls, list):
                shards = len(urls)
            elif name == "webdataset.shardlists.ResampledShards":
                splits = True  # each worker draws its own shards
            elif _asks_itself(stage):
                splits = True
        return ("webdataset", shards) if splits else ("none", None)


def _asks_itself(stage):
    """Whether a stage gives each worker a part: split_by_worker, or a function that does the same."""
    return bool(_asks(_functions(stage), None))


def _shards_of(dataset):
    if not classes.name_of(type(dataset)).startswith("datasets."):
        return None
    try:
        shards = dataset.num_shards if hasattr(type(dataset), "num_shards") else dataset.n_shards
    except Exception as error:
        if guard.raised_by_signal_handler(error):
            raise
        return None
    return shards if type(shards) is int and shards > 0 else None


def _streams_in(dataset):
    """The iterable data sets among an object's attributes, and among the elements of short lists and dicts there."""
    stream = getattr(sys.modules.get("torch.utils.data"), "IterableDataset", ())
    found = []
    for value in list(getattr(dataset, "__dict__", {}).values()):
        parts = list(value.values())[:MOST_ITEMS] if type(value) is dict else list(value)[:MOST_ITEMS] if type(value) in (list, tuple) else [value]
        for part in parts:
            if isinstance(type(part), type) and stream and issubclass(type(part), stream):
                found.append(part)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Code.


def _find(kind, name):
    """An attribute of a class, as its body wrote it: no descriptor of the user's is asked."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _functions(thing):
    """The Python functions behind a callable; empty for C."""
    kind = type(thing).__name__
    if kind == "function":
        return [thing]
    if kind in ("method", "staticmethod", "classmethod"):
        return _functions(thing.__func__)
    if kind == "property":
        return _functions(thing.fget)
    if kind in ("partial", "partialmethod"):
        return _functions(thing.func)
    if isinstance(thing, type):
        return [function for name in ("__init__", "__iter__", "__next__", "__call__") for function in _functions(vars(thing).get(name))]
    if type(thing).__module__ != "builtins" and _find(type(thing), "__call__") is not None:
        wrapped = getattr(thing, "__dict__", {}).get("f")  # a stage of WebDataset
        return _functions(_find(type(thing), "__call__")) + (_functions(wrapped) if wrapped is not None and wrapped is not thing else [])
    return []


def _asks(start, kind, instance=None):
    """Whether functions, or what they call, ask which worker runs them and how many there are. None: there is too much to read, or they ask for less."""
    names = set()
    for code, _ in _reach(start, kind, instance):
        if code is None:
            return None
        names.update(code.co_names)
        names.update(const for const in code.co_consts if type(const) is str and const in (COUNT, "get_worker_info"))
        if COUNT in code.co_varnames and _loads(code, COUNT):  # WebDataset's function gives a tuple of four
            names.add(COUNT)
    if not names & ASKS:
        return False
    return True if COUNT in names else None


def _reach(start, kind, instance=None):
    """Yield the code of functions and of what they call, with the name by which each was found; a None at last if there are too many.

    A name is looked for among the function's global names, in modules that it names, in its class, in the instance, and in its closure.
    """
    seen, left = set(), list(start)
    held = getattr(instance, "__dict__", {})
    asks = getattr(sys.modules.get("torch.utils.data"), "get_worker_info", None)
    while left:
        function = left.pop()
        if function is asks:
            yield _ASKING.__code__, None
            continue
        # The asking function has to read the number itself: within these it is always there.
        if id(function.__code__) in seen or function.__name__ in ASKS or _is_plain(function):
            continue
        seen.add(id(function.__code__))
        if len(seen) > MOST_CODE:
            yield None, None
            return
        around = function.__globals__
        for cell in function.__closure__ or ():
            try:
                left.extend(_functions(cell.cell_contents))
            except ValueError:
                pass  # not filled yet
        for code in _codes(function.__code__):
            yield code, function
            modules = [around[name] for name in code.co_names if type(around.get(name)).__name__ == "module"]
            for name in code.co_names:
                if name in around:
                    left.extend(_functions(around[name]))
                for base in kind.__mro__ if kind is not None else ():  # all of them: it may be super() that is asked
                    left.extend(_functions(vars(base).get(name)))
                if name in held:
                    left.extend(_functions(held[name]))
                    left.extend(_iterates(held[name]))
                for module in modules:
                    if module.__name__.partition(".")[0] not in PLAIN and name in vars(module):
                        left.extend(_functions(vars(module)[name]))


def _is_plain(function):
    return str(function.__module__).partition(".")[0] in PLAIN


def _ASKING():
    """Represents torch's get_worker_info if a program calls it by another name."""
    get_worker_info  # noqa: F821


def _iterates(thing):
    """The functions that a loop over an object of the program calls."""
    kind = type(thing)
    if kind.__module__ == "builtins" or kind.__module__.partition(".")[0] in PLAIN:
        return []
    stream = getattr(sys.modules.get("torch.utils.data"), "IterableDataset", None)
    if stream is not None and issubclass(kind, stream):
        return []  # searched separately
    return [function for name in ("__iter__", "__next__") for function in _functions(_find(kind, name))]


def _codes(code):
    """A function's code with that of the functions, generators and comprehensions inside of it."""
    yield code
    for const in code.co_consts:
        if type(const) is type(code):
            for inner in _codes(const):
                yield inner


# ---------------------------------------------------------------------------------------------------------------------
# Map-style data sets.


def _ignores_index(dataset):
    """Whether __getitem__ never uses its index, and the data set holds something that decides instead: a generator, an iterator, a counter."""
    kind = type(dataset)
    found = _functions(_find(kind, "__getitem__"))
    if len(found) != 1 or kind.__module__.partition(".")[0] in PLAIN + ("datasets",):
        return False
    code = found[0].__code__
    if code.co_argcount != 2 or code.co_flags & 0x0C or code.co_varnames[1] in code.co_cellvars or _loads(code, code.co_varnames[1]):
        return False
    held = getattr(dataset, "__dict__", {})
    return any(name in held and _moves_on(held[name]) for name in code.co_names) or _sets_attribute(code)


def _loads(code, name):
    import dis

    for step in dis.get_instructions(code):
        value = step.argval if type(step.argval) is tuple else (step.argval,)
        if "FAST" in step.opname and "STORE_FAST" != step.opname and name in value:
            return True
    return False


def _sets_attribute(code):
    import dis

    return any(step.opname == "STORE_ATTR" for step in dis.get_instructions(code))


def _moves_on(thing):
    """Whether something is another one after each use: an iterator, an open file, a generator of random numbers."""
    return hasattr(type(thing), "__next__") or is_generator(thing)


GENERATORS = ("random.Random", "torch._C.Generator", "torch.Generator", "numpy.random._generator.Generator", "numpy.random.mtrand.RandomState")


def is_generator(thing):
    kind = type(thing)
    return "%s.%s" % (kind.__module__, kind.__name__) in GENERATORS


def generators_of(dataset, collate, split):
    """The names of private generators of random numbers of which each worker has the same.

    Attributes of the data set, and of what collate_fn belongs to or is. Of a data set that is not split: those that its
    __iter__ makes from a number, too.
    """
    owner = collate.__self__ if type(collate).__name__ == "method" else collate
    loader = getattr(sys.modules.get("torch.utils.data"), "DataLoader", ())
    found = _held_by(dataset)
    if owner is not dataset:  # a loader's own generator is its sampler's
        found += [name for name in _held_by(owner) if not (name == "generator" and isinstance(owner, loader))]
    if split == "none":
        found += [made for function in _functions(_find(type(dataset), "__iter__")) for made in _made_alike(function.__code__)]
    return sorted(found)[:MOST_ITEMS]


def _held_by(thing):
    return [name for name, value in list(getattr(thing, "__dict__", {}).items()) if type(name) is str and is_generator(value)]


MAKERS = ("default_rng", "RandomState", "Random", "manual_seed")
BETWEEN = ("PUSH_NULL", "PRECALL", "CACHE", "KW_NAMES")


def _made_alike(code):
    """Calls in a function that make a generator from a number alone, which is the same in each worker."""
    import dis

    steps = [step for step in dis.get_instructions(code) if step.opname not in BETWEEN]
    for maker, number, call in zip(steps, steps[1:], steps[2:]):
        plain = number.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and type(number.argval) is int and call.opname.startswith("CALL")
        if maker.opname.startswith("LOAD_") and maker.argval in MAKERS and plain and call.arg == 1:
            yield "%s(%d) in %s" % (maker.argval, number.argval, code.co_name)
