"""torchdata.nodes: what a mapping node's function gives, in threads or processes of the node's or in the loop itself."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from typing import Any, Protocol

from ..daemon.deaths import patience
from . import judged, reach
from .recipes.pictures import Recording


class Feeder(Protocol):
    """What deferring.py does for whoever fetches: the module itself is handed in, as it imports this one."""

    def asked(self) -> bool: ...

    def in_worker(self) -> bool: ...

    def taken(self, kind: Any) -> Any: ...

    def begin_alone(self) -> None: ...

    def supplied(self, account: Any, count: int, seconds: float, home: Any, name: str) -> Any: ...

    def fetched(self, by: Any, account: judged.Account, fetch: Any, samples: int) -> Any: ...


class Mapped:
    """Such a function, fed."""

    def __init__(self, feeder: Feeder, function: Any, account: judged.Account) -> None:
        self._feeder, self._function, self._account = feeder, function, account
        self._thread = threading.local()  # what each thread keeps between items

    def __call__(self, item: Any) -> Any:
        if Recording.now is not None:
            return self._function(item)
        samples = len(item) if isinstance(item, list) else 1
        return self._feeder.fetched(self._thread, self._account, lambda: self._function(item), samples)


def install(feeder: Feeder) -> None:
    """See when mapping nodes begin."""
    found = sys.modules["torchdata.nodes.map"]
    if all(hasattr(found, name) for name in ("_InlineMapperIter", "_ParallelMapperIter", "_apply_udf")):
        inline, parallel = found._InlineMapperIter, found._ParallelMapperIter
        inline.__init__ = _inline_in_place_of(feeder, feeder.taken(inline))
        parallel.__init__ = _parallel_in_place_of(feeder, feeder.taken(parallel), found)
        parallel.__next__ = _next_in_place_of(parallel.__next__)


def _inline_in_place_of(feeder: Feeder, original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        account = _account(feeder, self.map_fn, self)
        if account is not None:
            feeder.begin_alone()
            self.map_fn = Mapped(feeder, self.map_fn, account)

    return __init__


def _parallel_in_place_of(feeder: Feeder, original: Any, home: Any) -> Any:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        told = given.arguments
        account = _account(feeder, told["map_fn"], self)
        if told["method"] == "process":
            with feeder.supplied(account, told["num_workers"], patience(), home, "_apply_udf") as supply:
                original(self, *args, **kwargs)
                if supply is not None:
                    self._stoker_supply = supply
            return
        if account is not None:
            feeder.begin_alone()
            told["map_fn"] = Mapped(feeder, told["map_fn"], account)
        original(*given.args, **given.kwargs)

    return __init__


def _next_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def __next__(self: Any) -> Any:
        if "_stoker_supply" in vars(self):
            self._stoker_supply.serve()
        return original(self)

    return __next__


def _account(feeder: Feeder, function: Any, node: Any) -> judged.Account | None:
    """Of what is mapped; None where that is not fed."""
    if not feeder.asked() or feeder.in_worker():
        return None
    function = getattr(function, "map_fn", function)  # what maps a batch of items is made anew each time
    account = judged.find_account(getattr(function, "__self__", function), node)
    account.witness = reach.find_witness(function)
    return None if account.is_hopeless() else account
