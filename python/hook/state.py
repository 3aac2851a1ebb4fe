"""What a data set is made of just now, as one number: whether it changed is asked where workers would not see it. A part of the start-up hook.

Nothing of the user's runs: attributes and elements are read through the plain types only. What C code hides, a module's global
names and the inside of files are not seen.
"""

import sys

from . import describe

NODES = 100000  # that are walked through one by one
BYTES = 256 << 20  # of arrays, tensors and buffers
HANDLES = ("h5py", "lmdb", "sqlite3", "tables")  # libraries whose open files a forked process must not share


class TooLarge(Exception):
    pass


def fingerprint(*roots):
    """Return (number, kinds of open files that were met). TooLarge where looking would take long."""
    import io
    import zlib

    seen, left, parts, files, size = set(), list(roots), [], [], 0
    while left:
        thing = left.pop()
        kind = type(thing)
        if thing is None or kind in _PLAIN:
            parts.append(hash(thing))
            continue
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if len(seen) > NODES:
            raise TooLarge("it has more than %d parts" % NODES)
        parts.append(id(kind))
        if isinstance(thing, io.IOBase) or kind.__module__.partition(".")[0] in HANDLES:
            if not isinstance(thing, io.TextIOWrapper) or not thing.closed and thing.readable():  # not where a log goes
                files.append("%s.%s" % (kind.__module__, kind.__name__))
            continue
        if kind.__module__ == "logging":
            continue
        flat = _flat(thing)
        if flat is not None:
            parts.append(flat)
            continue
        raw = _raw(thing)
        if raw is not None:
            size += raw.nbytes
            if size > BYTES:
                raise TooLarge("its arrays have more than %d MB" % (BYTES >> 20))
            parts.append(zlib.crc32(raw))
            continue
        parts.append(_chance(thing) or id(thing))
        left.extend(_inside(thing))
    return hash(tuple(parts)), files


_PLAIN = (bool, int, float, complex, str, bytes)


def _flat(thing):
    """The hash of a long list of plain values, or of tuples of them: at the speed of C, a million files take a fifth of a second."""
    if type(thing) not in (list, tuple) or len(thing) < 64:
        return None
    from itertools import chain

    kinds = set(map(type, thing))
    if kinds == {tuple}:
        kinds = set(map(type, chain.from_iterable(thing)))
    return hash(tuple(thing)) if kinds <= set(_PLAIN) | {type(None)} else None


def _raw(thing):
    """The bytes of a tensor, an array or a buffer."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(thing, torch.Tensor):
        if thing.device.type != "cpu" or thing.layout is not torch.strided:
            return None
        with torch._C.DisableTorchFunction(), torch.no_grad():
            thing = thing.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    elif type(thing).__module__ == "numpy" and type(thing).__name__ in ("ndarray", "memmap"):
        if thing.dtype.hasobject or type(thing).__name__ == "memmap":
            return None
        thing = thing.ravel()
    elif type(thing).__name__ not in ("bytearray", "array", "memoryview"):
        return None
    return memoryview(thing).cast("B") if memoryview(thing).nbytes else memoryview(b"")


def _chance(thing):
    """The state of a private generator of random numbers."""
    kind = "%s.%s" % (type(thing).__module__, type(thing).__name__)
    if kind == "random.Random":
        return hash(thing.getstate())
    if kind in ("torch._C.Generator", "torch.Generator"):
        return hash(bytes(thing.get_state().numpy()))
    if kind == "numpy.random._generator.Generator":
        return hash(repr(thing.bit_generator.state))
    if kind == "numpy.random.mtrand.RandomState":
        return hash(repr([part if not hasattr(part, "tobytes") else part.tobytes() for part in thing.get_state()]))
    return None


def _inside(thing):
    kind = type(thing)
    if isinstance(thing, type) or kind.__name__ in ("module", "builtin_function_or_method"):
        return ()
    if kind.__name__ == "function":
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell)]
        return cells + list(thing.__defaults__ or ()) + list((thing.__kwdefaults__ or {}).values())
    if kind.__name__ == "method":
        return (thing.__self__, thing.__func__)
    if kind.__name__ == "partial":
        return (thing.func, thing.args, thing.keywords)
    found = []
    if isinstance(thing, dict):
        found += list(dict.keys(thing)) + list(dict.values(thing))
    elif isinstance(thing, (list, tuple, set, frozenset)) or kind.__name__ == "deque":
        found += list(kind.__mro__[-2].__iter__(thing)) if kind.__name__ != "deque" else list(thing)
    for base in kind.__mro__:
        for name in vars(base).get("__slots__") or () if not isinstance(vars(base).get("__slots__"), str) else ():
            try:
                found.append(object.__getattribute__(thing, name))
            except AttributeError:
                pass
    if getattr(kind, "__dictoffset__", 0):
        found += list(object.__getattribute__(thing, "__dict__").values())
    return found


def _is_filled(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def chance():
    """The states of the generators that all of a program shares, by their names."""
    import random

    states = {"random": random.getstate()}
    generator = getattr(sys.modules.get("torch"), "default_generator", None)
    if generator is not None:
        states["torch"] = bytes(generator.get_state().numpy())
    if "numpy.random" in sys.modules:
        name, keys, place, gauss, cached = sys.modules["numpy.random"].get_state()
        states["numpy"] = (keys.tobytes(), place, gauss, cached)
    return states


def name_used(before, after):
    """The names of the generators from which something was drawn. One that was seeded again counts too."""
    return sorted(name for name in after if after[name] != before.get(name, after[name]))


def digest(torch, batch):
    """One number for the tensors and arrays of a batch, to the bit."""
    import zlib

    total = 0
    for found in describe.walk(torch, batch):
        raw = _raw(found)
        if raw is None:
            raise TypeError("a batch of %s cannot be compared" % type(found).__name__)
        total = zlib.crc32(raw, total)
    return total
