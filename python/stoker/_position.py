"""Where a trainer is in its epochs, and the batches from there on.

This is what stoker.Loader and stoker.DataLoader have in common.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ._feed import PROTOCOL, Delivery, Gone, Session, meeting_place
from ._order import Plan
from ._place import Place
from ._verbs import StokerError

FORMAT = 2  # of a state; docs/feed.md. Format 1 had no count of bad samples
DIGITS = 32  # of a digest in a state
BAD_KEPT = 100  # bad samples that a report names


class Feeder:
    """One loader's session with the daemon, and the trainer's position.

    A position is an epoch and the number of its samples that all ranks together
    have consumed. `at` is the trainer's: batches that it has not asked for yet
    are not consumed. samples gives the list of samples as the daemon reads it; without
    it the daemon lists the folder.
    """

    def __init__(
        self,
        spec: dict[str, Any],
        place: Place,
        options: dict[str, Any],
        patience: float,
        told: Callable[[str], None],
        samples: Callable[[], bytes] = bytes,
    ) -> None:
        self.spec = {**spec, "name": spec.get("name") or _name(spec), "world": place.world}
        self.place = place
        self._samples = samples
        self.fence: Callable[[], Any] = lambda: None
        self.copies = 0  # batches that were copied because the trainer keeps too many
        self._options = {name: value for name, value in options.items() if value is not None}
        self._patience = patience
        self._told = told
        self._session: Session | None = None
        self._state: dict[str, Any] | None = None  # loaded, to be compared at the next open
        self.at = (0, 0)
        self._said: tuple[int, int] | None = (0, 0)  # where the next iteration begins; None: where it does by itself
        self._begun = (0, 0)  # where this one did
        self._bad_at: tuple[tuple[int, int], int] = ((0, 0), 0)  # a position, and how many samples of its epoch were bad in front of it
        self._untouched = False  # no batch of it was taken
        self._iteration = 0  # counts them: only the last one begun may go on
        self._live = False
        self._left = 0  # steps of the iteration whose batches are to come
        self._due = 0  # steps whose batches are to be handed out
        self._bad_from = 0  # samples of the epoch that were bad in front of where the iteration began
        self._ahead: tuple[int, int] | None = None  # run and epoch behind which the daemon has gone on by itself
        self._finished: tuple[int, int, int] | None = None  # run and epoch that came to their end last, and _bad_from
        self._report: dict[str, Any] | None = None  # of it
        self._bad: dict[tuple[int, int], list[dict[str, Any]]] = {}
        self._pid = os.getpid()

    # Sessions.

    def open(self) -> Session:
        """The session; a new one where there was none or it is dead."""
        if self.inherited():
            raise StokerError("this iteration was begun in another process: a forked child begins its own")
        if self._session is None:
            session = self._begin_session()
            try:
                if self._state is not None:
                    self._continues(self._state, session.opened)
            except StokerError:
                session.close()
                raise
            self._session = session
            self._state = None
        return self._session

    def inherited(self) -> bool:
        """Whether this is a forked child's copy."""
        return self._pid != os.getpid()

    def follow(self, other: Feeder) -> None:
        """Begin where another loader's next iteration would, whose samples or transforms were changed."""
        self.at, self._said, self._bad_at, self._state = other.at, other.next, other._bad_at, other._state
        self._report = other.report()
        self.copies = other.copies

    def _begin_session(self) -> Session:
        job = self.place.job()
        samples = self._samples()
        hello = {
            "type": "open",
            "protocol": PROTOCOL,
            "spec": {**self.spec, **({"list": hashlib.sha256(samples).hexdigest()} if samples else {})},
            "rank": self.place.rank,
            "local_rank": self.place.local_rank,
            "pid": os.getpid(),
            "options": self._options,
        }
        ours = weakref.ref(self)

        def fence() -> Any:
            feeder = ours()
            return feeder.fence() if feeder is not None else None

        session = Session(hello, samples, meeting_place(job) if job else None, self.place.local_world, fence, self._patience, self._told)
        for note in session.opened.get("notes", ()):
            self._told(note)
        return session

    def _continues(self, state: dict[str, Any], opened: dict[str, Any]) -> None:
        """Refuse a state that is not of these samples, or not of what is done with them."""
        if state["manifest"] != opened["manifest"][:DIGITS]:
            raise StokerError(
                f"the state is of other samples (manifest {state['manifest']}, {self.spec['root']} has {opened['manifest'][:DIGITS]}): "
                "files were added, removed, renamed or given other labels since; restore them, or begin without the state"
            )
        if state["pipeline"] != opened["pipeline"][:DIGITS]:
            raise StokerError(
                "the state is of another pipeline: transforms, dtype, layout, fast or shuffle differ; give the loader those of the run that wrote it"
            )
        if state["consumed"] > opened["samples"]:
            raise StokerError(f"the state says that {state['consumed']} samples were consumed, but an epoch has {opened['samples']}: it is damaged")

    def close(self) -> None:
        """End the session. The next iteration begins a new one where this one was left."""
        if self._live:
            self._said = self.at
        self._live = False
        self._ahead = None
        if self._session is not None:
            with contextlib.suppress(StokerError):
                self.report(ending=True)  # it would be lost with the session
            self._session.close()
            self._session = None

    def _lost(self) -> None:
        """The daemon is gone: the next iteration goes on from the last batch that was handed out."""
        self.close()

    # Positions.

    @property
    def batch(self) -> int:
        """Samples that all ranks together consume in a step."""
        return self.spec["batch"] * self.spec["world"]

    def steps(self, samples: int, consumed: int = 0) -> int:
        """Steps from a position to the end of its epoch."""
        return Plan(samples, self.spec["world"], self.spec["batch"], self.spec["tail"]).steps(min(consumed, samples))

    @property
    def next(self) -> tuple[int, int]:
        """Where the next iteration begins. One that was begun and never asked for a batch does not count."""
        if self._said is not None:
            return self._said
        return self._begun if self._live and self._untouched else (self.at[0] + 1, 0)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is of this epoch: from its beginning, or from where a state left it."""
        if epoch < 0:
            raise ValueError(f"epoch {epoch}: expected 0 or more")
        if self.next[0] != epoch:
            self._said = (epoch, 0)

    def skip(self, batches: int) -> None:
        """Leave out batches, of the iteration under way or of the next one. Costs no reading."""
        if batches < 0:
            raise ValueError(f"skip of {batches} batches: expected 0 or more")
        if not self._live:
            self._said = (self.next[0], self.next[1] + batches * self.batch)
            return
        session = self.open()
        samples = session.opened["samples"]
        epoch, consumed = self.at
        self.at = epoch, min(consumed + batches * self.batch, samples)
        self._untouched = False
        self._start(session)

    def state(self) -> dict[str, Any]:
        """The position, and what it is a position in; 200 bytes as JSON at most."""
        opened = self.open().opened
        epoch, consumed = self.at if self._live else self.next
        return {
            "format": FORMAT,
            "manifest": opened["manifest"][:DIGITS],
            "pipeline": opened["pipeline"][:DIGITS],
            "seed": self.spec["seed"],
            "epoch": epoch,
            "consumed": min(consumed, opened["samples"]),
            "bad": self._bad_before((epoch, consumed)),
        }

    def _bad_before(self, position: tuple[int, int]) -> int:
        """How many samples of its epoch are known to be bad in front of a position."""
        known, bad = self._bad_at
        return bad if position[0] == known[0] and position[1] >= known[1] else 0

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a state at the next iteration, whatever rank or world it came from."""
        state = _checked(state)
        if self._session is not None:
            self._continues(state, self._session.opened)
        self._live = False
        if state["seed"] != self.spec["seed"]:  # another seed is another order: another session
            self.close()
            self.spec["seed"] = state["seed"]
        self._state = state if self._session is None else None
        self._said = (state["epoch"], state["consumed"])
        self._bad_at = self._said, state["bad"]

    # Batches.

    def begin(self) -> int:
        """Begin an iteration; the answer names it."""
        session = self.open()
        self._iteration += 1
        if self._live and self._untouched and self.next == self._begun:
            return self._iteration
        follows = self._ahead is not None and self.next == (self._ahead[1] + 1, 0)
        self.at = self._begun = self.next
        self._said = None
        self._live = self._untouched = True
        try:
            if follows:  # its first batches wait already
                self._left = self._due = self.steps(session.opened["samples"])
                self._bad_from = 0
            else:
                self._start(session)
        except Gone:
            self._lost()
            raise
        self._ahead = None
        return self._iteration

    def _start(self, session: Session) -> None:
        epoch, consumed = self.at
        samples = session.opened["samples"]
        self.at = epoch, min(consumed, samples)
        self._left = self._due = self.steps(samples, consumed)
        self._bad_from = self._bad_before(self.at)
        if self._left:
            session.start(epoch, self.at[1], self._bad_from)

    def going(self, iteration: int) -> bool:
        """Whether this iteration may go on: the last one begun, neither over nor left."""
        return self._live and iteration == self._iteration

    def left(self, iteration: int) -> int:
        """Steps of this iteration that are to come."""
        if not self.going(iteration):
            raise StokerError("this iteration is over: a newer one has begun, a state was loaded, or the loader was closed; two at a time need a loader each")
        return self._left

    def take(self, wait: bool = True) -> Delivery | None:
        """The next batch; None where it is not there and is not waited for."""
        session = self.open()
        try:
            delivery = session.take_if_there()
            if delivery is None and wait:
                delivery = session.take(f"a batch of epoch {self.at[0]} at sample {self.at[1]}")
        except StokerError:
            self._lost()
            raise
        if delivery is not None:
            self._left -= 1
            self._untouched = False
            self._note(session, delivery.packet)
        return delivery

    def handed(self, delivery: Delivery) -> None:
        """The trainer has this batch now."""
        self.at = delivery.packet["epoch"], delivery.packet["consumed"]
        self._bad_at = self.at, delivery.packet.get("bad_so_far", 0)
        self._due -= 1
        if self._due == 0 and self._session is not None:  # some trainers count, and never ask for one batch too many
            self._ahead = self._session.run, self.at[0]
            self._finished = *self._ahead, self._bad_from
            self._report = None

    def over(self) -> None:
        """The trainer knows that the iteration came to its end."""
        self._live = False

    def hold(self, delivery: Delivery, last: bool) -> tuple[np.ndarray, np.ndarray]:
        """The batch's images and labels. They lie in the ring, on loan as long as one of them is seen.

        Where the trainer keeps so many batches that the daemon has no slot to work
        in, and at the end of an epoch, where the last batch would keep its report
        from coming, they are a copy.
        """
        session = self.open()
        slot = delivery.packet["slot"]
        fields = session.ring.fields(delivery.memory, delivery.packet["count"])
        session.loans.lend(slot, delivery.memory)
        crowded = session.loans.held() >= max(2, session.ring.slots)
        if crowded:
            self.copies += 1
            if self.copies == 1:
                self._told(f"{session.ring.slots - 1} batches are kept by the trainer: further ones are copied; depth= makes room for more")
        if crowded or last:
            fields = np.copy(fields[0], order="K"), np.copy(fields[1])
            session.loans.give_back(slot, _Done())
            session.loans.poll()
        return fields

    def which(self, delivery: Delivery) -> Which:
        """The samples of a batch; to be asked before its slot goes back."""
        packet = delivery.packet
        return Which(packet, self.open().ring.indices(packet["slot"], packet["count"]))

    def borrow(self, delivery: Delivery) -> tuple[np.ndarray, np.ndarray]:
        """The batch's images and labels, until give_back."""
        return self.open().ring.fields(delivery.memory, delivery.packet["count"])

    def give_back(self, delivery: Delivery, fence: Any) -> None:
        """Pairs with borrow."""
        self.open().loans.give_back(delivery.packet["slot"], fence)

    def _note(self, session: Session, packet: dict[str, Any]) -> None:
        found = packet.get("bad")
        if not found:
            return
        bad = self._bad.setdefault((session.run, packet["epoch"]), [])
        if not bad:
            first = found[0]
            self._told(f"{first['path']}: {first['reason']}; this epoch's further bad samples are named by loader.report")
        bad.extend(found[: BAD_KEPT - len(bad)])

    def report(self, ending: bool = False) -> dict[str, Any] | None:
        """What became of the last epoch that came to its end; None before, and while one of its batches is held."""
        if self._report is None and self._finished is not None and self._session is not None:
            run, epoch, before = self._finished
            report = self._session.report(run, epoch, ending)
            if report is not None:
                named = self._bad.get((run, epoch), [])
                self._report = {"epoch": epoch, **report, "bad": before + report["bad"], "bad_samples": named, "copies": self.copies}
                self._bad.clear()
        return self._report


class _Done:
    """The fence of what no device reads."""

    def query(self) -> bool:
        return True


# The fields of a state and the largest number in each; the others are digests.
_LARGEST = {"format": (1 << 63) - 1, "seed": (1 << 64) - 1, "epoch": (1 << 32) - 1, "consumed": 1 << 40, "bad": 1 << 40}
_DIGESTS = ("manifest", "pipeline")


def _checked(state: Any) -> dict[str, Any]:
    """A copy of a state, every field of which can be true."""
    names = {*_LARGEST, *_DIGESTS}
    if isinstance(state, dict) and state.get("format") == 1 and "bad" not in state:
        state = {**state, "format": FORMAT, "bad": 0}
    if not isinstance(state, dict) or set(state) != names:
        raise StokerError(f"this is no state of a stoker loader: expected a dict with the fields {', '.join(sorted(names))}")
    if state["format"] != FORMAT:
        raise StokerError(f"the state has format {state['format']!r}, this stoker reads format {FORMAT}: continue with the version that wrote it")
    for name, largest in _LARGEST.items():
        value = state[name]
        if type(value) is not int or not 0 <= value <= largest:
            raise StokerError(f"field {name!r} of the state is {value!r}: a whole number from 0 to {largest} is expected")
    for name in _DIGESTS:
        value = state[name]
        if not isinstance(value, str) or len(value) != DIGITS or not set(value) <= set("0123456789abcdef"):
            raise StokerError(f"field {name!r} of the state is {value!r}: {DIGITS} hexadecimal digits in lower case are expected")
    return dict(state)


_names: dict[str, itertools.count[int]] = {}


def _name(spec: dict[str, Any]) -> str:
    """A name that all ranks come to by themselves: loaders that differ have different names."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    name = f"{os.path.basename(spec['root'].rstrip('/')) or 'root'}-{digest}"
    number = next(_names.setdefault(name, itertools.count(1)))
    return name if number == 1 else f"{name}-{number}"


class Which:
    """The samples of a batch. Few trainers ask, so that what is asked for is made then."""

    def __init__(self, packet: dict[str, Any], numbers: bytearray) -> None:
        self._packet = packet
        self._numbers = numbers

    @functools.cached_property
    def indices(self) -> np.ndarray:
        """Their places in the data set."""
        return np.frombuffer(self._numbers, np.int64)

    @functools.cached_property
    def mask(self) -> np.ndarray:
        """True for those that are to be learned from."""
        learned = np.ones(self._packet["count"], bool)
        learned[self._packet.get("mask", [])] = False
        return learned
