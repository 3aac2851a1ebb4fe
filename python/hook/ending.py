"""Which exception ended the program, told at its exit. A part of the start-up hook, loaded only where there is one.

Limits. It replaces no sys.excepthook, reads no stderr and tells no message: Python itself keeps the exception in
sys.last_value, and a message may quote a sample. Of the names that a missing module, name or attribute has, it tells the name,
and of PyTorch's errors which memory ran out, in words of this file.
"""

import os
import sys
from time import monotonic_ns

from . import channel, describe, guard, now

NAMED = ("ModuleNotFoundError", "ImportError", "NameError", "UnboundLocalError", "AttributeError")

# What a message of PyTorch has in it where memory ran out, and the words for that. The first that fits counts.
MEMORY = (
    (("in pin memory thread", "out of memory"), "pinned memory"),
    (("CUDA error: out of memory",), "CUDA memory"),
    (("out of shared memory",), "shared memory"),
    (("unable to allocate shared memory",), "shared memory"),
    (("DefaultCPUAllocator: can't allocate memory",), "host memory"),
    (("DataLoader worker", "is killed by signal: Killed"), "worker killed"),
)


def tell():
    """Send the exception that ended the program: by the process's own channel, by a new one where torch never came."""
    record = _record(sys.last_value, getattr(sys, "last_traceback", None))
    if now.state is not None:
        now.state.channel.put_first(record)
        return
    alone = channel.Channel(None)
    alone.greeted = True  # a hello would say that torch is watched here
    alone.put_first(record)
    alone.flush(None, monotonic_ns())
    alone.close()


def _record(error, traceback):
    kind = type(error)
    name = getattr(kind, "__qualname__", "?")
    builtin = kind.__module__ in ("builtins", "__main__")
    record = {"k": "raised", "t": monotonic_ns(), "type": name if builtin else "%s.%s" % (kind.__module__, name)}
    record["type"] = record["type"][:200]
    record["file"], record["line"] = _users_line(traceback)
    if kind.__module__ == "builtins" and name in NAMED:
        about = getattr(error, "name", None)
        if type(about) is str and about.replace(".", "_").isidentifier():
            record["about"] = about[:100]
    elif (kind.__module__, name) in (("builtins", "RuntimeError"), ("torch", "AcceleratorError")):
        message = error.args[0] if error.args else None
        fit = [word for parts, word in MEMORY if type(message) is str and all(part in message for part in parts)]
        if fit:
            record["about"] = fit[0]
    if kind.__module__ == "builtins" and isinstance(error, SyntaxError) and type(error.filename) is str:
        record["file"], record["line"] = os.path.abspath(error.filename)[:500], error.lineno or 0
    return record


def _users_line(traceback):
    """The innermost line of the program's own, else the innermost one."""
    found = None, 0
    while traceback is not None:
        file, line = traceback.tb_frame.f_code.co_filename[:500], traceback.tb_lineno
        own = not describe.is_installed(file) and not guard.is_ours(traceback.tb_frame)
        if own or found[0] is None or describe.is_installed(found[0]):
            found = file, line
        traceback = traceback.tb_next
    return found
