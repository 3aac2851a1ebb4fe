"""Stoker's Python client: the emulated device and the verbs.

It needs nothing but the standard library and starts nothing by itself. The
verbs call the binary and return its JSON::

    import stoker
    verdict = stoker.diagnose("stoker-runs/2026-11-21T101500-train.jsonl.gz")
    print(verdict["verdict"]["class"], verdict["verdict"]["stall"])

`stoker.emulated` is a device with a queue for machines without a GPU.
"""

from ._verbs import StokerError, advise, diagnose, find_binary, verify

__all__ = ["StokerError", "advise", "diagnose", "find_binary", "verify"]
