"""Which data sets can be fed: judged by the first fetches of all their workers together.

Of a data set in whose first fetches nothing could wait, or nearly all was made one by one after all, everything of ours
is taken away again, and its later epochs begin without us. What was found lies on the page of _share, so that workers
that are forked anew in each epoch know it, and the trainer.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Any

from . import _pictures, _share

FETCHES, WAITED, OPENED, LOST = range(_share.WORDS)  # fetches; those in which something waited; pictures; those in vain


class Account:
    """What has been found of one data set."""

    def __init__(self, number: int | None) -> None:
        self.number = number  # its slot on the page, None where there is none
        self._told = [0] * _share.WORDS  # by all, when that was looked at last
        self._own = [0] * _share.WORDS  # not told yet
        self._gone = False
        self.witness = ""  # of the program's code: what would notice that a tensor waits

    def add(self, found: list[int]) -> bool:
        """After a fetch. Whether it is this one after which it is to be said that nothing waits."""
        with _lock:
            self._own = [old + more for old, more in zip(self._own, found)]
            numbers = self._numbers()
            before = self._told if numbers is None else _share.enter(numbers, self._own)
            if before is None:  # another process was at it
                return False
            self._told = [old + more for old, more in zip(before, self._own)]
            self._own = [0] * _share.WORDS
        return not self._told[WAITED] and before[FETCHES] < _pictures._TRIED <= self._told[FETCHES]

    def hopeless(self) -> bool:
        """Whether feeding it gains nothing."""
        if not self._gone:
            found = self.found()
            silent = found[FETCHES] >= _pictures._TRIED and not found[WAITED]
            self._gone = silent or found[OPENED] >= _pictures._TRIED and found[LOST] >= 0.9 * found[OPENED]
        return self._gone

    def found(self) -> list[int]:
        """By all."""
        numbers = self._numbers()
        return self._told if numbers is None else list(numbers)

    def _numbers(self) -> memoryview | None:
        return None if self.number is None else _share.slot(self.number)


_accounts: dict[int, tuple[weakref.ref[Any], Account]] = {}  # by what they are of
_slots = itertools.count()
_lock = threading.Lock()


def of(data: Any, loader: Any) -> Account:
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
            account = Account(number if number < _share.SLOTS else None)
            _accounts[id(each)] = seen, account
            return account
    return Account(None)


def all_hopeless() -> bool:
    """Whether all data sets that there are are."""
    with _lock:
        return all(account.hopeless() for seen, account in _accounts.values() if seen() is not None)


def silent() -> bool:
    """Whether nothing has waited anywhere, and too little was fetched for that to be said."""
    with _lock:
        founds = [account.found() for _, account in _accounts.values()]
    fetched = [found[FETCHES] for found in founds]
    return any(fetched) and max(fetched) < _pictures._TRIED and not any(found[WAITED] for found in founds)


def uncounted() -> str:
    """What is said of pictures that were loaded after their data set had been let go; nothing where there are none."""
    with _lock:
        gone = sum(account.hopeless() and account.found()[OPENED] > 0 for _, account in _accounts.values())
    return f"let go after the first pictures, as feeding gains nothing: {gone} of the data sets, not counted from there on" if gone else ""


def _forked() -> None:
    """In a forked child: a thread of the parent's may hold it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)
