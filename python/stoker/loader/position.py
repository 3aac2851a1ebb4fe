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
from typing import Any, TypeVar

import numpy as np

from .._place import Place
from .._verbs import StokerError
from .._warning import say
from ..daemon.deaths import Deaths
from ..daemon.session import PROTOCOL, Delivery, Gone, Session, meeting_place
from . import order
from .order import Plan

FORMAT = 2  # of a state; docs/loader.md. Format 1 had no count of bad samples
DIGITS = 32  # of a digest in a state
T = TypeVar("T")
BAD_KEPT = 100  # bad samples that a report names


class _Taken:
    """What was taken of an iteration: from it another daemon goes on where one died, and accounts for the whole."""

    def __init__(self, epoch: int, begun: int, bad: int) -> None:
        self.epoch, self.begun = epoch, begun  # begun: where in the epoch the iteration did
        self.before = bad  # samples of the epoch that were bad in front of that
        self.at, self.bad_so_far = begun, bad  # behind the last batch
        self.steps = self.samples = self.bad = self.inexact = 0
        self._digest = "0" * DIGITS
        self.named: list[dict[str, Any]] = []  # the first bad samples

    def __str__(self) -> str:
        return f"sample {self.at} of epoch {self.epoch}"

    def add(self, packet: dict[str, Any]) -> None:
        """Count a batch."""
        self.at, self.bad_so_far = packet["consumed"], packet.get("bad_so_far", 0)
        self.steps += 1
        self.samples += packet.get("samples", 0)
        self.bad += len(packet.get("bad", ())) + packet.get("bad_more", 0)
        self.inexact += packet.get("inexact", 0)
        self._digest = order.join_digests(self._digest, packet.get("digest", "0" * DIGITS))

    def resumed(self) -> dict[str, Any]:
        """What a daemon is told that goes on."""
        return {"done": self.steps, "samples": self.samples, "digest": self._digest} if self.steps else {}


class Feeder:
    """One loader's session with the daemon, and the trainer's position. A daemon that dies or hangs costs time:
    another one goes on.

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
        self._expected: dict[str, Any] = {}  # what the daemon said of the samples: one in its place must say the same
        self._last: Any = None  # of a session that is over: what its daemon said at its opening, and its ring
        self._deaths = Deaths()
        self._worked = False  # the daemon has made a batch
        self._taken = _Taken(0, 0, 0)  # of this iteration
        self._state: dict[str, Any] | None = None  # loaded, to be compared at the next open
        self.at = (0, 0)
        self._said: tuple[int, int] | None = (0, 0)  # where the next iteration begins; None: where it does by itself
        self._begun = (0, 0)  # where this one did
        self._bad_at: tuple[tuple[int, int], int] = (
            (0, 0),
            0,
        )  # a position, and how many samples of its epoch were bad in front of it
        self._untouched = False  # no batch of it was taken
        self._iteration = 0  # counts them: only the last one begun may go on
        self._live = False
        self._left = 0  # steps of the iteration whose batches are to come
        self._due = 0  # steps whose batches are to be handed out
        self._ahead: tuple[int, int] | None = None  # run and epoch behind which the daemon has gone on by itself
        self._finished: tuple[int, _Taken] | None = None  # the run that came to its end last
        self._report: dict[str, Any] | None = None  # of it
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
            self._worked = False
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
        session = Session(
            hello,
            samples,
            meeting_place(job) if job else None,
            self.place.local_world,
            self._fence,
            self._patience,
            self._told,
        )
        for note in session.opened.get("notes", ()):
            self._told(note)
        return session

    @property
    def _fence(self) -> Callable[[], Any]:
        ours = weakref.ref(self)

        def fence() -> Any:
            feeder = ours()
            return feeder.fence() if feeder is not None else None

        return fence

    def _open_again(self) -> Session:
        """The session with which an iteration begins: with a daemon, where the one before ended without."""
        if self._by_pillow():
            self.report()  # which nobody else has
            without = self._session
            assert without is not None
            self._session = None
            try:
                self._same(self.open())
                without.close()
            except (Gone, OSError, StokerError):
                self._leave(Gone("it has ended"))
                self._session, without.made = without, 0  # type: ignore[attr-defined]
        return self.open()

    def _continues(self, state: dict[str, Any], opened: dict[str, Any]) -> None:
        """Refuse a state that is not of these samples, or not of what is done with them."""
        if state["manifest"] != opened["manifest"][:DIGITS]:
            raise StokerError(
                f"the state is of other samples (manifest {state['manifest']}, {self.spec['root']} has "
                f"{opened['manifest'][:DIGITS]}): "
                "files were added, removed, renamed or given other labels since: restore them, or begin "
                "without the state"
            )
        if state["pipeline"] != opened["pipeline"][:DIGITS]:
            raise StokerError(
                "the state is of another pipeline: transforms, dtype, layout or shuffle differ: give the "
                "loader those of the run that wrote it"
            )
        if state["consumed"] > opened["samples"]:
            raise StokerError(
                f"the state says that {state['consumed']} samples were consumed, but an epoch has "
                f"{opened['samples']}: it is damaged"
            )

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
        """The session ended with an error: the next iteration goes on from the last batch that was handed out."""
        self.close()

    def _revive(self, error: Gone) -> None:
        """Another daemon in place of one that died or hangs, or Pillow, at the same place."""
        why, worked = error, self._worked
        while True:
            self._leave(error)
            if not self._deaths.bear(worked):
                return self._go_on_with_pillow(why)
            worked = False
            try:
                self._resume(self._same(self.open()))
            except Gone as another:
                error = another
            except OSError as another:
                return self._go_on_with_pillow(Gone(f"{why}, and another one cannot be started: {another}"))
            else:
                say(f"{why}: another daemon goes on at {self._taken}")
                return

    def _go_on_with_pillow(self, error: Gone) -> None:
        """Batches made here, for a while; the error, where they cannot be."""
        from .fallback import Impossible, PillowSession

        if self._last is None:
            raise error
        samples = self._samples()
        try:
            session: Any = PillowSession(self.spec, self.place.rank, samples, *self._last, self._fence)
        except (Impossible, OSError) as why:
            raise Gone(f"{error}, and Pillow cannot go on: {why}") from error
        self._session = session
        self._resume(session)
        say(f"{error}: Pillow makes the batches from {self._taken} on, more slowly, until another daemon is started")

    def _by_pillow(self) -> bool:
        """Whether the session is one of no daemon."""
        return hasattr(self._session, "made")

    def _try_a_daemon(self) -> None:
        """Leave what Pillow does to a daemon again, where that has done as much as a daemon has in hand: whatever one
        may have died of is past."""
        session: Any = self._session
        if self._by_pillow() and session.made >= session.ring.slots and self._left:
            self._deaths.recover()
            if self._deaths.bear(True):
                self._session = None
                try:
                    self._resume(self._same(self.open()))
                    session.close()
                except (Gone, OSError):
                    self._leave(Gone("it has ended"))
                    self._session, session.made = session, -(1 << 30)  # not once more in this iteration
                    self._resume(session)

    def _leave(self, error: Gone) -> None:
        """The session is over, with a daemon that is of no use any more."""
        if self._session is not None:
            self._expected = {name: self._session.opened.get(name) for name in ("samples", "manifest", "pipeline")}
            self._last = self._session.opened, self._session.ring
            self._session.give_up(error)
        self._session = self._ahead = None

    def _same(self, session: Session) -> Session:
        """A session that hands out what the one before it did."""
        for name, known in self._expected.items():
            if known != session.opened.get(name):
                self.close()
                raise StokerError(
                    f"{self.spec['root']} is not what it was when its daemon died ({name} "
                    f"{session.opened.get(name)}, not {known}): "
                    "files were added, removed, renamed or given other labels since"
                )
        return session

    def _resume(self, session: Session) -> None:
        """Have a new session go on where the one before it ended, and account for what that one did not."""
        if self._finished is not None and (self._report is None or self.place.world > 1):
            finished = self._finished[1]
            self._begin_at(session, finished, once=True)
            self._finished = session.run, finished
            self._report = None
            self._ask_report(session, ending=True)
        if self._live and self._left:
            self._begin_at(session, self._taken)

    def _begin_at(self, session: Session, taken: _Taken, **more: Any) -> None:
        session.start(taken.epoch, taken.begun, taken.bad_so_far, **taken.resumed(), **more)

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
        self._start(samples)

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
        self._deaths.iteration()
        session = self._open_again()
        self._iteration += 1
        if self._live and self._untouched and self.next == self._begun:
            return self._iteration
        follows = self._ahead is not None and self.next == (self._ahead[1] + 1, 0)
        self.at = self._begun = self.next
        self._said = None
        self._live = self._untouched = True
        self._start(session.opened["samples"], follows)
        return self._iteration

    def _start(self, samples: int, follows: bool = False) -> None:
        """Begin where the trainer is. Where that follows the iteration before, its first batches wait already."""
        epoch, consumed = self.at
        self.at = epoch, min(consumed, samples)
        self._left = self._due = self.steps(samples, consumed)
        self._taken = _Taken(*self.at, self._bad_before(self.at))
        self._ahead = None
        if self._left and not follows:
            self._held(lambda session: self._begin_at(session, self._taken), resumed=True)

    def _held(self, ask: Callable[[Session], T], resumed: bool = False) -> T:
        """What a session answers, by another one where it dies; resumed: where that one begins, all is asked."""
        while True:
            self._try_a_daemon()
            session = self.open()
            try:
                return ask(session)
            except Gone as error:
                self._revive(error)
                if resumed:
                    return None  # type: ignore[return-value]
            except StokerError:
                self._lost()
                raise

    def going(self, iteration: int) -> bool:
        """Whether this iteration may go on: the last one begun, neither over nor left."""
        return self._live and iteration == self._iteration

    def left(self, iteration: int) -> int:
        """Steps of this iteration that are to come."""
        if not self.going(iteration):
            raise StokerError(
                "this iteration is over: a newer one has begun, a state was loaded, or the loader was closed: "
                "two at a time need a loader each"
            )
        return self._left

    def take(self, wait: bool = True) -> Delivery | None:
        """The next batch; None where it is not there and is not waited for."""
        delivery = self._held(lambda session: self._next_of(session, wait))
        if delivery is not None:
            self._left -= 1
            self._untouched, self._worked = False, True
            self._taken.add(delivery.packet)
            self._note(self.open(), delivery.packet)
        return delivery

    def _next_of(self, session: Session, wait: bool) -> Delivery | None:
        delivery = session.take_if_there()
        if delivery is None and wait:
            delivery = session.take(f"a batch of epoch {self.at[0]} at sample {self.at[1]}")
        return delivery

    def handed(self, delivery: Delivery) -> None:
        """The trainer has this batch now."""
        self.at = delivery.packet["epoch"], delivery.packet["consumed"]
        self._bad_at = self.at, delivery.packet.get("bad_so_far", 0)
        self._due -= 1
        if self._due == 0 and self._session is not None:  # some trainers count, and never ask for one batch too many
            self._ahead = None if self._by_pillow() else (self._session.run, self.at[0])
            self._finished = self._session.run, self._taken
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
                self._told(
                    f"{session.ring.slots - 1} batches are kept by the trainer: further ones are copied, "
                    f"depth= makes room for more"
                )
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
        bad = self._taken.named
        if not bad:
            first = found[0]
            self._told(
                f"{first['path']}: {first['reason']}, and this epoch's further bad samples are named by loader.report"
            )
        bad.extend(found[: BAD_KEPT - len(bad)])

    def report(self, ending: bool = False) -> dict[str, Any] | None:
        """What became of the last epoch that came to its end; None before, and while one of its batches is held."""
        if self._report is None and self._finished is not None and self._session is not None:
            if ending:
                self._ask_report(self._session, ending)
            else:
                self._held(lambda session: self._report is None and self._ask_report(session))
        return self._report

    def _ask_report(self, session: Session, ending: bool = False) -> None:
        assert self._finished is not None
        run, taken = self._finished
        report = session.report(run, taken.epoch, ending)
        if report is not None:
            counts = {
                "bad": taken.before + max(report["bad"], taken.bad),
                "inexact": max(report["inexact"], taken.inexact),
            }
            self._report = {"epoch": taken.epoch, **report, **counts, "bad_samples": taken.named, "copies": self.copies}


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
        raise StokerError(
            f"this is no state of a stoker loader: expected a dict with the fields {', '.join(sorted(names))}"
        )
    if state["format"] != FORMAT:
        raise StokerError(
            f"the state has format {state['format']!r}, this stoker reads format {FORMAT}: continue with the "
            f"version that wrote it"
        )
    for name, largest in _LARGEST.items():
        value = state[name]
        if type(value) is not int or not 0 <= value <= largest:
            raise StokerError(
                f"field {name!r} of the state is {value!r}: a whole number from 0 to {largest} is expected"
            )
    for name in _DIGESTS:
        value = state[name]
        if not isinstance(value, str) or len(value) != DIGITS or not set(value) <= set("0123456789abcdef"):
            raise StokerError(
                f"field {name!r} of the state is {value!r}: {DIGITS} hexadecimal digits in lower case are expected"
            )
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
