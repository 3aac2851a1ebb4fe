"""Whether deferring is worthwhile for a data set, judged by what its first fetches cost.

Some fetches run without Stoker. Their processor time per sample is compared with that of the
deferred ones, the daemon's time included. A data set is dropped if deferring is not cheaper, or if
its first fetches defer nothing: the patches are removed, and later epochs run without Stoker. The
counts are kept on the page of share.py, so that the trainer and workers forked in later epochs see
them.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Any

from ..handover.receiving import MessageCounts
from .recipes import share

#: The counts: fetches, fetches that deferred something, pictures; then, for the fetches compared,
#: deferred and plain: their number, their samples and their nanoseconds.
FETCHES, DEFERRED, OPENED, FED, FED_SAMPLES, FED_COST, PLAIN, PLAIN_SAMPLES, PLAIN_COST = range(share.WORDS)

_TRIED = 16  # fetches that defer nothing, before a data set is dropped
#: If they do not open a JPEG either: as many fetches, of as many samples [J]. An epoch that begins
#: with deferring costs each worker some 100 ms, in sum a quarter of a short epoch of audio.
_UNOPENED, _UNOPENED_SAMPLES = 4, 16
_COMPARED = 6  # fetches of each kind, before costs are compared [J]: their means then differ by some percent
_AGAIN = 256  # fetches, after which one more runs plain
_ALWAYS = os.environ.get("STOKER_FEED_ALWAYS") == "1"  # defer at any cost, for tests
_WORTH = 0.95  # of the plain cost; the comparison is not more precise than that


class Account:
    """The counts of one data set."""

    def __init__(self, number: int | None) -> None:
        self.number = number  # its slot on the page; None: it has none
        self._totals = [0] * share.WORDS  # of all processes, when last read
        self._pending = [0] * share.WORDS  # counts not yet on the page
        self._hopeless = False
        self.messages = MessageCounts()  # of what its workers hand over
        self.witness = ""  # code of the program that would notice a deferred tensor

    def count_fetch(self, deferred: bool, opened: int) -> bool:
        """Count a fetch. Returns True once, when it is time to say that nothing is deferred."""
        before = self._add({FETCHES: 1, DEFERRED: int(deferred), OPENED: opened})
        return before is not None and _is_fruitless(self._totals) and not _is_fruitless(before)

    def count_cost(self, deferred: bool, samples: int, cost: int) -> None:
        """Count the cost of a fetch in nanoseconds."""
        kind, of, took = (FED, FED_SAMPLES, FED_COST) if deferred else (PLAIN, PLAIN_SAMPLES, PLAIN_COST)
        self._add({kind: 1, of: samples, took: cost})

    def wants_plain(self) -> bool:
        """Whether the next fetch should run without Stoker, for comparison."""
        found = self.read_totals()
        return not _ALWAYS and found[PLAIN] < min(found[FED], _COMPARED + found[FETCHES] // _AGAIN)

    def is_hopeless(self) -> bool:
        """Whether deferring gains nothing for this data set."""
        if not self._hopeless:
            found = self.read_totals()
            self._hopeless = _is_fruitless(found) or _costs_more(found)
        return self._hopeless

    def find_kinds(self) -> tuple[bool, bool, bool]:
        """Return whether it had fetches, whether these deferred something or were found fruitless, and
        whether it was dropped after something was deferred."""
        found = self.read_totals()
        return found[FETCHES] > 0, _is_fruitless(found) or found[DEFERRED] > 0, self.is_hopeless() and found[DEFERRED] > 0

    def read_totals(self) -> list[int]:
        """Return the counts of all processes."""
        numbers = self._numbers()
        return self._totals if numbers is None else list(numbers)

    def _add(self, found: dict[int, int]) -> list[int] | None:
        """Add counts to the page, and return those before. None: it was locked, so the next call
        adds them."""
        with _lock:
            for word, more in found.items():
                self._pending[word] += more
            numbers = self._numbers()
            before = self._totals if numbers is None else share.add_to_slot(numbers, self._pending)
            if before is None:
                return None
            self._totals = [old + more for old, more in zip(before, self._pending)]
            self._pending = [0] * share.WORDS
            return before

    def _numbers(self) -> memoryview | None:
        return None if self.number is None else share.find_slot(self.number)


def _is_fruitless(found: list[int]) -> bool:
    """Whether its fetches deferred nothing, and were enough to tell."""
    unopened = not found[OPENED] and found[FED_SAMPLES] >= _UNOPENED_SAMPLES
    return found[FETCHES] >= (_UNOPENED if unopened else _TRIED) and not found[DEFERRED]


def _costs_more(found: list[int]) -> bool:
    if min(found[FED], found[PLAIN]) < _COMPARED:
        return False
    return found[FED_COST] * found[PLAIN_SAMPLES] > _WORTH * found[PLAIN_COST] * found[FED_SAMPLES]


_accounts: dict[int, tuple[weakref.ref[Any], Account]] = {}  # by id of the data set or loader
_slots = itertools.count()
_free: list[int] = []  # slots of data sets that are gone
_ended = [0, 0, 0]  # what _count_kinds counts, of these
_owner = os.getpid()  # a forked child's data sets may go while the parent's stay
_lock = threading.Lock()


def find_account(data: object, loader: object) -> Account:
    """Return the account of a data set, or of its loader if weak references to the data set fail."""
    for each in (data, loader):
        with _lock:
            seen, account = _accounts.get(id(each), (None, None))
            if seen is not None and account is not None and seen() is each:
                return account
            try:
                seen = weakref.ref(each)
            except TypeError:
                continue
            _end_accounts()
            number = _free.pop() if _free else next(_slots)
            account = Account(number if number < share.SLOTS else None)
            _accounts[id(each)] = seen, account
            return account
    return Account(None)


def _end_accounts() -> None:
    """Free the slots of data sets that are gone: a program may make another one for each epoch. An iterator keeps its data set."""
    for key in [key for key, (seen, _) in _accounts.items() if seen() is None and _owner == os.getpid()]:
        account = _accounts.pop(key)[1]
        _ended[:] = map(sum, zip(_ended, account.find_kinds()))
        numbers = account._numbers()
        if account.number is not None and (numbers is None or share.add_to_slot(numbers, [-each for each in numbers]) is not None):
            _free.append(account.number)


def are_all_hopeless() -> bool:
    """Whether no living data set gains by deferring."""
    with _lock:
        return all(account.is_hopeless() for seen, account in _accounts.values() if seen() is not None)


def _count_kinds() -> list[int]:
    """Return how many data sets, gone ones too, are of each kind of find_kinds."""
    with _lock:
        return [*map(sum, zip(_ended, *(account.find_kinds() for _, account in _accounts.values())))]


def is_silent() -> bool:
    """Whether nothing was deferred, in too few fetches for that to have been said."""
    fetched, told, _ = _count_kinds()
    return fetched > 0 and not told


def say_dropped() -> str:
    """Say how many data sets were dropped after some pictures were deferred; "" if none."""
    gone = _count_kinds()[2]
    return f"let go after the first pictures, as feeding costs no less: {gone} of the data sets, not counted from there on" if gone else ""


def _reset_after_fork() -> None:
    """Replace the lock in a forked child: a thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_reset_after_fork)
