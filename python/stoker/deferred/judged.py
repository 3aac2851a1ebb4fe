"""Which data sets are fed: judged by what their first fetches cost, of all their workers together.

Some fetches are run as without Stoker, and the processor time of a sample is compared with that of the fed ones, the
daemon's included. A data set that is not cheaper fed, or in whose first fetches nothing waits, is let go: everything of
ours is taken away, and its later epochs begin without us. What is found lies on the page of share, so that workers that
are forked anew in each epoch know it, and the trainer.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Any

from .recipes import share

#: What is counted: fetches, those in which something waited, pictures; of the fetches whose cost is compared, fed and
#: plain, their number, their samples and the nanoseconds that these took.
FETCHES, WAITED, OPENED, FED, FED_SAMPLES, FED_COST, PLAIN, PLAIN_SAMPLES, PLAIN_COST = range(share.WORDS)

_TRIED = 16  # fetches without a deferred picture after which a data set is let go
_COMPARED = 6  # fetches of each kind, before their costs are compared [J]: their means then differ by some percent
_AGAIN = 256  # fetches after which one more is run plain
_ALWAYS = os.environ.get("STOKER_FEED_ALWAYS") == "1"  # feed whatever it costs, for tests
_WORTH = 0.95  # of the plain cost: feeding has to cost less, as the comparison is no better than that


class Account:
    """What has been found of one data set."""

    def __init__(self, number: int | None) -> None:
        self.number = number  # its slot on the page, None where there is none
        self._told = [0] * share.WORDS  # by all, when that was looked at last
        self._own = [0] * share.WORDS  # not told yet
        self._gone = False
        self.witness = ""  # of the program's code: what would notice that a tensor waits

    def count_fetch(self, waited: bool, opened: int) -> bool:
        """Count a fetch. Whether it is this one after which it is to be said that nothing waits."""
        before = self._add({FETCHES: 1, WAITED: int(waited), OPENED: opened})
        return before is not None and not self._told[WAITED] and before[FETCHES] < _TRIED <= self._told[FETCHES]

    def count_cost(self, fed: bool, samples: int, cost: int) -> None:
        """Count what a fetch took, in nanoseconds."""
        kind, of, took = (FED, FED_SAMPLES, FED_COST) if fed else (PLAIN, PLAIN_SAMPLES, PLAIN_COST)
        self._add({kind: 1, of: samples, took: cost})

    def wants_plain(self) -> bool:
        """Whether the next fetch is to be run as without us, for comparison."""
        found = self.found()
        return not _ALWAYS and found[PLAIN] < min(found[FED], _COMPARED + found[FETCHES] // _AGAIN)

    def is_hopeless(self) -> bool:
        """Whether feeding it gains nothing."""
        if not self._gone:
            found = self.found()
            self._gone = found[FETCHES] >= _TRIED and not found[WAITED] or _costs_more(found)
        return self._gone

    def found(self) -> list[int]:
        """By all."""
        numbers = self._numbers()
        return self._told if numbers is None else list(numbers)

    def _add(self, found: dict[int, int]) -> list[int] | None:
        """What was there before; None where another process was at it, so that it is added next time."""
        with _lock:
            for word, more in found.items():
                self._own[word] += more
            numbers = self._numbers()
            before = self._told if numbers is None else share.enter(numbers, self._own)
            if before is None:
                return None
            self._told = [old + more for old, more in zip(before, self._own)]
            self._own = [0] * share.WORDS
            return before

    def _numbers(self) -> memoryview | None:
        return None if self.number is None else share.slot(self.number)


def _costs_more(found: list[int]) -> bool:
    if min(found[FED], found[PLAIN]) < _COMPARED:
        return False
    return found[FED_COST] * found[PLAIN_SAMPLES] > _WORTH * found[PLAIN_COST] * found[FED_SAMPLES]


_accounts: dict[int, tuple[weakref.ref[Any], Account]] = {}  # by what they are of
_slots = itertools.count()
_lock = threading.Lock()


def find_account(data: Any, loader: Any) -> Account:
    """The account of a data set; where nothing can refer weakly to that, of its loader."""
    for each in (data, loader):
        with _lock:
            seen, account = _accounts.get(id(each), (None, None))
            if seen is not None and account is not None and seen() is each:
                return account
            try:
                seen = weakref.ref(each)
            except TypeError:
                continue
            number = next(_slots)
            account = Account(number if number < share.SLOTS else None)
            _accounts[id(each)] = seen, account
            return account
    return Account(None)


def are_all_hopeless() -> bool:
    """Whether all data sets that there are are."""
    with _lock:
        return all(account.is_hopeless() for seen, account in _accounts.values() if seen() is not None)


def is_silent() -> bool:
    """Whether nothing has waited anywhere, and too little was fetched for that to be said."""
    with _lock:
        founds = [account.found() for _, account in _accounts.values()]
    fetched = [found[FETCHES] for found in founds]
    return any(fetched) and max(fetched) < _TRIED and not any(found[WAITED] for found in founds)


def say_let_go() -> str:
    """What is said of data sets that were let go after pictures of theirs had waited; nothing where there are none."""
    with _lock:
        gone = sum(account.is_hopeless() and account.found()[WAITED] > 0 for _, account in _accounts.values())
    return f"let go after the first pictures, as feeding costs no less: {gone} of the data sets, not counted from there on" if gone else ""


def _forked() -> None:
    """In a forked child: a thread of the parent's may hold it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)
