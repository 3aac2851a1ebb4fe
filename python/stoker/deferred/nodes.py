"""torchdata.nodes: deferring in mapping nodes, in their threads, in their processes or in the loop."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..daemon.deaths import patience
from ..remote.iterators import say_why_here
from . import payoff, reach
from .recipes.pictures import Recording

if TYPE_CHECKING:
    from types import ModuleType


class Feeder(Protocol):
    """What mapping nodes need of deferring.py, which imports this module and passes itself in."""

    def wants_deferring(self) -> bool: ...

    def in_worker(self) -> bool: ...

    def find_init(self, kind: type) -> Any: ...

    def begin_in_process(self) -> None: ...

    def supplying_workers(
        self, account: payoff.Account | None, count: int, seconds: float, home: ModuleType, name: str
    ) -> Any: ...

    def run_fetch(self, by: object, account: payoff.Account, fetch: Callable[[], Any], samples: int) -> Any: ...


class Mapped:
    """The function of a mapping node, run as a fetch."""

    def __init__(self, feeder: Feeder, function: Callable[[Any], Any], account: payoff.Account) -> None:
        self._feeder, self._function, self._account = feeder, function, account
        self._thread = threading.local()  # keeps our state between items, per thread

    def __call__(self, item: object) -> Any:
        if Recording.now is not None:
            return self._function(item)
        samples = len(item) if isinstance(item, list) else 1
        return self._feeder.run_fetch(self._thread, self._account, lambda: self._function(item), samples)


def install(feeder: Feeder) -> None:
    """Patch the iterators of mapping nodes."""
    found = sys.modules["torchdata.nodes.map"]
    if all(hasattr(found, name) for name in ("_InlineMapperIter", "_ParallelMapperIter", "_apply_udf")):
        inline, parallel = found._InlineMapperIter, found._ParallelMapperIter
        inline.__init__ = _wrap_inline_init(feeder, feeder.find_init(inline))
        parallel.__init__ = _wrap_parallel_init(feeder, feeder.find_init(parallel), found)
        parallel.__next__ = _wrap_next(parallel.__next__)


def _wrap_inline_init(feeder: Feeder, original: Callable[..., None]) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        account = _find_account(feeder, self.map_fn, self)
        if account is not None:
            feeder.begin_in_process()
            self.map_fn = Mapped(feeder, self.map_fn, account)

    return __init__


def _wrap_parallel_init(feeder: Feeder, original: Callable[..., None], home: ModuleType) -> Any:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        arguments = given.arguments
        if not feeder.in_worker():
            say_why_here("torchdata.nodes has a pipeline where a DataLoader has a data set, and starts each node's workers itself")
        account = _find_account(feeder, arguments["map_fn"], self)
        if arguments["method"] == "process":
            with feeder.supplying_workers(account, arguments["num_workers"], patience(), home, "_apply_udf") as supply:
                original(self, *args, **kwargs)
                if supply is not None:
                    self._stoker_supply = supply
            return
        if account is not None:
            feeder.begin_in_process()
            arguments["map_fn"] = Mapped(feeder, arguments["map_fn"], account)
        original(*given.args, **given.kwargs)

    return __init__


def _wrap_next(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def __next__(self: Any) -> Any:
        if "_stoker_supply" in vars(self):
            self._stoker_supply.serve()
        return original(self)

    return __next__


def _find_account(feeder: Feeder, function: Callable[..., Any], node: object) -> payoff.Account | None:
    """Return the account of a mapped function; None if it is not deferred."""
    if not feeder.wants_deferring() or feeder.in_worker():
        return None
    function = getattr(function, "map_fn", function)  # the wrapper of a batch is new each time
    account = payoff.find_account(getattr(function, "__self__", function), node)
    account.witness = reach.find_witness(function)
    return None if account.is_hopeless() else account
