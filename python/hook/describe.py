"""The records that are sent once, or once a second: the process, a loader's settings, the precision, the content of a batch. A part of the start-up hook.

Limits. No code of the user's runs: only classes and plain attributes are read.
"""

import os
import sys
from _weakref import ref

from . import channel, classes, guard, now, padding, part

WALK_NODES = 1000  # of a nested batch
TORCH, STOKER = "torch.utils.data.dataloader", "stoker.loader.dataloader"
_iterator_names = {TORCH: "_BaseDataLoaderIter", STOKER: "_Batches"}


def iterators_of(name):
    """The class of a module's iterators; empty if it is not imported."""
    module = sys.modules.get(name)
    return getattr(module, _iterator_names[name], ()) if module is not None else ()


class ByObject(object):
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


calls = ByObject()  # (file, line) where a DataLoader was made
others = []  # what tells the settings of iterators that are no DataLoader's, or None


def note_call(loader):
    """Note the line that makes a DataLoader, of any package: settings are changed there."""
    file, line = users_line(own=False)
    if file is not None:
        calls.put(loader, (os.path.abspath(file), line))


def worker_id():
    worker = sys.modules.get("torch.utils.data._utils.worker")
    info = getattr(worker, "_worker_info", None)
    return getattr(info, "id", None)


def hello(state):
    torch, worker = state.torch, worker_id()
    record = {"k": "hello", "role": "main" if worker is None else "worker", "ppid": os.getppid(), "tid": os.getpid()}
    if worker is not None:
        record["worker"] = worker
    record["python"] = "%d.%d.%d" % sys.version_info[:3]
    record["torch"] = _text(getattr(torch, "__version__", None))
    record["cuda"] = _text(getattr(getattr(torch, "version", None), "cuda", None))
    record["framework"] = framework()
    record["torchvision"] = _text(getattr(sys.modules.get("torchvision"), "__version__", None))
    rank, world = _joined()
    record["rank"] = _number_in_environment("RANK", "SLURM_PROCID") if rank is None else rank
    record["local_rank"] = _number_in_environment("LOCAL_RANK")
    record["world"] = world or _number_in_environment("WORLD_SIZE")
    record["start_method"] = start_method(None)
    if now.imports[0] is not None and not is_installed(now.imports[0]):
        record["import_file"], record["import_line"] = now.imports
    if os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        record["blocking"] = True
    return record


def framework():
    """The framework of a process without PyTorch, by its imports; None with PyTorch, or if unknown."""
    if "torch" not in sys.modules:
        for module, name in (("jax", "JAX"), ("tensorflow", "TensorFlow")):
            if module in sys.modules:
                return name
    return None


def _joined():
    """Rank and size of the process group that the program joined; None and None before."""
    group = sys.modules.get("torch.distributed")
    joined = getattr(group, "is_initialized", None)
    return (group.get_rank(), group.get_world_size()) if joined is not None and joined() else (None, None)


def _number_in_environment(*names):
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return None


def _text(value):
    return str(value)[:500] if isinstance(value, str) else None


def settings_of(loader, iterator):
    """The settings of a loader, as plain values; a bare iterator has a part of them.

    Read from the instance's own attributes: a property of a subclass would be code of the user's.
    """
    for settings_of_other in others:
        settings = settings_of_other(iterator)
        if settings is not None:
            return settings
    if isinstance(iterator, iterators_of(STOKER)):
        return _stoker_settings(vars(vars(iterator)["_loader"]), vars(vars(iterator)["_fed"]))
    own = vars(loader) if loader is not None else {name.lstrip("_"): value for name, value in vars(iterator).items()}
    dataset, batch_sampler = own.get("dataset"), own.get("batch_sampler")
    kinds = sys.modules["torch.utils.data.dataloader"]._DatasetKind
    iterable = vars(iterator).get("_dataset_kind") == kinds.Iterable
    batch_size = own.get("batch_size")
    if batch_size is None and batch_sampler is not None:
        batch_size = getattr(batch_sampler, "__dict__", {}).get("batch_size")
    settings = {name: _plain(own.get(name)) for name in SETTINGS}
    settings["batch_size"] = _plain(batch_size)
    settings["start_method"] = start_method(own.get("_DataLoader__multiprocessing_context"))
    settings["dataset"] = type(dataset).__name__
    settings["iterable"] = iterable
    settings["length"] = None if iterable else _length(own.get("sampler"), dataset)
    settings["shuffle"] = None if iterable or loader is None else _shuffles(own.get("sampler"), batch_sampler)
    settings["file"], settings["line"], settings["function"] = _users_place()
    settings["call_file"], settings["call_line"] = calls.get(loader) or (None, None)
    settings.update(_reading(loader, own))
    # A batch surely has batch_size samples where torch's own sampler makes the batches and the last short one is dropped.
    own_batches = type(batch_sampler).__module__.startswith("torch.utils.data.")
    settings["exact"] = bool(own_batches and own.get("drop_last") and isinstance(settings["batch_size"], int))
    settings["collates"] = bool(vars(iterator).get("_auto_collation"))
    settings.update(_splitting(own, iterable))
    return settings


def mark_of(dataset):
    """What a data set's attributes are just now, as far as plain values and identities tell. None of no data set.

    Kept from the end of an epoch to the beginning of the next one: only the program changes it between them.
    """
    if dataset is None:
        return None
    return [(name, value if type(value) in _PLAIN else id(value)) for name, value in list(getattr(dataset, "__dict__", {}).items())[:MARKED]]


_PLAIN = (bool, int, float, str, type(None))
MARKED = 200  # attributes


def _splitting(own, iterable):
    """Whether more workers keep the samples: a fact of the data set's class."""
    split = part("split")
    word, shards = split.split_of(own, iterable)
    return {"split": word, "shards": shards, "generators": split.generators_of(classes.behind_subsets(own.get("dataset")), own.get("collate_fn"), word)}


def _reading(loader, own):
    """What a sample goes through, by name. Only classes and plain attributes are looked at: nothing of the user's runs."""
    collate = sys.modules.get("torch.utils.data._utils.collate")
    if collate is None:
        return {}  # a torch that is not known
    dataset = classes.behind_subsets(own.get("dataset"))
    found = getattr(dataset, "__dict__", {})
    reader = [kind for kind in type(dataset).__mro__ if "__getitem__" in vars(kind)] or [type(dataset)]
    parts = {
        "collate_fn": own.get("collate_fn") is collate.default_collate,
        "worker_init_fn": own.get("worker_init_fn") is None,
        "batch_sampler": classes.name_of(type(own.get("batch_sampler"))) == "torch.utils.data.sampler.BatchSampler",
        "sampler": classes.name_of(type(own.get("sampler"))) in _SAMPLERS,
        "image loader": "loader" not in found or classes.name_of(found["loader"]).startswith("torchvision.datasets.folder."),
        "fallen back": not type(loader).__module__.startswith("stoker."),
    }
    names = [classes.name_of(step) for step in _steps(found.get("transform"), 0)]
    return {"reader": classes.name_of(reader[0]), "transforms": names[:32], "own": [part for part in parts if not parts[part]]}


_SAMPLERS = ("torch.utils.data.sampler.RandomSampler", "torch.utils.data.sampler.SequentialSampler", "torch.utils.data.distributed.DistributedSampler")


def _steps(transform, depth):
    """The transforms in order, with those of a Compose inside one another."""
    inside = getattr(transform, "__dict__", {})
    if depth < 8 and type(transform).__name__ == "Compose" and type(transform).__module__.startswith("torchvision."):
        inner = inside.get("transforms")
    elif depth < 8 and classes.name_of(type(transform)) == "torch.nn.modules.container.Sequential":
        inner = list((inside.get("_modules") or {}).values())
    else:
        return [] if transform is None else [transform]
    return [step for part in inner for step in _steps(part, depth + 1)] if isinstance(inner, (list, tuple)) else [transform]


def _stoker_settings(own, fed):
    """The settings of a stoker.DataLoader that is fed. What its arguments have no effect on is left out."""
    feeder = vars(fed["feeder"])
    spec, options = feeder["spec"], feeder["_options"]
    opened = getattr(feeder["_session"], "opened", {})
    threads = options.get("threads")  # of all ranks of the node
    settings = {"kind": "stoker", "num_workers": max(1, threads // feeder["place"].local_world) if threads else None, "pin_memory": own.get("pin_memory")}
    settings.update(persistent_workers=True, in_order=True, batch_size=spec["batch"], drop_last=spec["tail"] == "drop", start_method=None)
    settings.update(dataset=type(own.get("dataset")).__name__, iterable=False, length=opened.get("samples"), shuffle=spec["shuffle"])
    settings.update(normalize_on_device=fed.get("numbers") is not None)
    settings["file"], settings["line"] = users_line()
    settings["exact"], settings["collates"] = settings["drop_last"], True
    return settings


SETTINGS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "in_order", "drop_last")


def _plain(value):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if type(value).__module__ == "numpy" and hasattr(value, "__index__"):
        return value.__index__()
    return _text(value)


def start_method(context):
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
        if guard.raised_by_signal_handler(error):
            raise
        return None


def _shuffles(sampler, batch_sampler):
    if not type(batch_sampler).__module__.startswith("torch.utils.data.") and batch_sampler is not None:
        return None  # who knows
    name = type(sampler).__name__
    if name == "DistributedSampler":
        return _plain(vars(sampler).get("shuffle"))
    return {"SequentialSampler": False, "RandomSampler": True}.get(name)


def users_line(own=True):
    """File and line of the innermost frame that is neither ours nor of a loader's package; its own: nor of any that is installed, if there is one."""
    return _users_place(own)[:2]


def _users_place(own=True):
    """The same, and the name of the function, with its class from Python 3.11 on."""
    frame = sys._getframe(1)
    found = None, None, None
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if not guard.is_ours(frame) and package not in packages:
            code = frame.f_code
            place = code.co_filename[:500], frame.f_lineno, getattr(code, "co_qualname", code.co_name)[:200]
            if not own or not is_installed(place[0]):
                return place
            if found[0] is None:
                found = place
        frame = frame.f_back
    return found


def is_installed(file):
    """Whether a file is of an installed package, of Python's own modules or the command that starts one of them."""
    return file.startswith(_INSTALLED) or any(os.sep + part + os.sep in file for part in ("site-packages", "dist-packages"))


_INSTALLED = ("<frozen ", os.path.dirname(os.__file__) + os.sep, os.path.join(sys.prefix, "bin") + os.sep)
packages = {"torch", "stoker"}  # whose frames are not the program's; inputs.py adds those of its loaders


def precision_of(torch):
    """Asks torch._C: the public getters warn, or raise where a program mixes the old settings with the new."""
    core = torch._C
    try:
        matmul = {"tf32": "high", "bf16": "medium"}.get(core._get_fp32_precision_getter("cuda", "matmul"), "highest")
    except (AttributeError, RuntimeError):  # before torch 2.9
        get = getattr(core, "_get_float32_matmul_precision", None)
        matmul = get() if get is not None else None
    get = getattr(core, "_get_cudnn_benchmark", None)
    # The asking thread is seldom inside autocast, even where all of the model is: False would say too much.
    autocast = torch.is_autocast_enabled() or now.autocasts or None
    return {"matmul": matmul, "cudnn_benchmark": get() if get is not None else None, "autocast": autocast}


def samples_of(torch, loader, batch):
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
        with torch._C.DisableTorchFunction():  # the batch may be a subclass of the user's, with other code
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
    """The elements of a container, through the methods of the plain types only."""
    if isinstance(thing, dict):
        return dict.values(thing)
    if isinstance(thing, list):
        return list.__iter__(thing)
    if isinstance(thing, tuple):
        return tuple.__iter__(thing)
    own = getattr(type(thing), "__dictoffset__", 0) and not isinstance(thing, type) and object.__getattribute__(thing, "__dict__")
    return list(dict.values(own)) if own else ()


def tell_batch(state, loader, batch, ended):
    torch = state.torch
    tensors, size, largest, dtype, ask, padded = 0, 0, -1, None, None, None
    with torch._C.DisableTorchFunction():
        walked = [0]
        for found in walk(torch, batch, walked):
            nbytes = bytes_of(torch, found)
            tensors, size = tensors + 1, size + nbytes
            if nbytes > largest:
                largest, dtype = nbytes, str(found.dtype).replace("torch.", "")
                ask = found if isinstance(found, torch.Tensor) else None
            padded = padded or padding.count_padding(torch, found)
        pinned = is_pinned(state, loader, ask)
        place = ask.device.type if ask is not None else "cpu"
    record = {"k": "batch", "loader": loader.number, "bytes": size, "samples": samples_of(torch, loader, batch), "padded": padded}
    if place != "cpu":
        record["device"] = place
    state.channel.put(channel.encode_record(dict(record, dtype=dtype, pinned=pinned, tensors=tensors, objects=walked[0] - tensors, ended=ended)))


def walk(torch, batch, walked=None):
    """Yield the tensors and arrays in a batch: of at most 1,000 things, at most 6 levels deep, each once.

    The number of things that were looked at goes into walked[0].
    """
    left, seen, nodes = [(batch, 0)], set(), 0
    while left and nodes < WALK_NODES:
        thing, depth = left.pop()
        nodes += 1
        if walked is not None:
            walked[0] = nodes
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


def bytes_of(torch, found):
    if not isinstance(found, torch.Tensor):
        return found.nbytes
    try:
        return int(found.numel() * found.element_size())
    except (RuntimeError, TypeError):  # of a layout without a plain size
        return 0


def is_pinned(state, loader, tensor):
    if state.devices.emulated.found:
        return loader.pin_memory
    cuda = sys.modules.get("torch.cuda")
    # is_pinned would initialise CUDA, is forbidden while capturing, and is an operation that a dispatch mode would see.
    if tensor is None or cuda is None or not cuda.is_initialized() or now.captures or tensor.device.type != "cpu":
        return None
    modes = getattr(state.torch._C, "_len_torch_dispatch_stack", None)
    if (modes is not None and modes()) or cuda.is_current_stream_capturing():
        return None
    return tensor.is_pinned()
