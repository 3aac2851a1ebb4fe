"""The trainer's position in its epochs, and the batches from there on.

stoker.Loader and stoker.DataLoader share this module.
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
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._place import Place
from .._verbs import StokerError
from .._warning import say
from ..daemon.deaths import Deaths
from ..daemon.session import PROTOCOL, Delivery, Gone, Session, Unread, meeting_place
from . import order
from .order import Plan

if TYPE_CHECKING:
    from ..daemon.ring import Fence

FORMAT = 2  # of a state, see docs/loader.md; format 1 had no count of bad samples
DIGITS = 32  # of a digest in a state
T = TypeVar("T")
BAD_KEPT = 100  # bad samples that a report names


class _Progress:
    """The batches taken in an iteration: after a daemon's death, another one continues from here."""

    def __init__(self, epoch: int, begun: int, bad: int) -> None:
        self.epoch, self.begun = epoch, begun  # begun: the position at which the iteration began
        self.before = bad  # bad samples of the epoch before that position
        self.at, self.bad_so_far = begun, bad  # after the last batch
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

    def resume_fields(self) -> dict[str, Any]:
        """Return the fields of a start by which a daemon continues."""
        return {"done": self.steps, "samples": self.samples, "digest": self._digest} if self.steps else {}


class Feeder:
    """One loader's session with the daemon, and the trainer's position.

    If a daemon dies or hangs, another one continues. A position is an epoch and the number of its
    samples that all ranks together have consumed. `at` is the trainer's position: batches that it
    has not taken yet are not consumed. samples() returns the encoded list of samples; if it is
    empty, the daemon lists the folder.
    """

    def __init__(
        self,
        spec: dict[str, Any],
        place: Place,
        options: dict[str, Any],
        patience: float,
        say_to_user: Callable[[str], None],
        samples: Callable[[], bytes] = bytes,
    ) -> None:
        self.spec = {**spec, "name": spec.get("name") or _name(spec), "world": place.world}
        self.place = place
        self._samples = samples
        self.fence: Callable[[], Any] = lambda: None
        self.copies = 0  # batches that were copied because the trainer keeps too many
        self._options = {name: value for name, value in options.items() if value is not None}
        self._patience = patience
        self._say = say_to_user
        self._session: Session | None = None
        self._expected: dict[str, Any] = {}  # what the daemon said of the samples; the next daemon must say the same
        self._last: Any = None  # what the last session's daemon said at its opening, and its ring
        self._deaths = Deaths()
        self._worked = False  # whether the daemon has computed a batch
        self._taken = _Progress(0, 0, 0)  # of this iteration
        self._state: dict[str, Any] | None = None  # a loaded state, compared at the next open
        self.at = (0, 0)
        self._next_begin: tuple[int, int] | None = (0, 0)  # set explicitly; None: the next epoch
        self._begun = (0, 0)  # where this iteration began
        # A position, and how many samples of its epoch before it were bad.
        self._bad_at: tuple[tuple[int, int], int] = ((0, 0), 0)
        self._untouched = False  # whether no batch was taken yet
        self._iteration = 0  # number of iterations; only the last one may continue
        self._live = False
        self._left = 0  # steps whose batches were not taken yet
        self._due = 0  # steps whose batches were not handed out yet
        self._ahead: tuple[int, int] | None = None  # run and epoch after which the daemon has begun the next epoch
        self._finished: tuple[int, _Progress] | None = None  # the run that ended last
        self._report: dict[str, Any] | None = None  # the report of that run
        self._pid = os.getpid()

    # Sessions.

    def open(self) -> Session:
        """Return the session, and open one first if necessary."""
        if self.is_inherited():
            raise StokerError("this iteration was begun in another process: a forked child begins its own")
        if self._session is None:
            session = self._begin_session()
            try:
                if self._state is not None:
                    self._check_state_fits(self._state, session.opened)
            except StokerError:
                session.close()
                raise
            self._session = session
            self._worked = False
            self._state = None
        return self._session

    def is_inherited(self) -> bool:
        """Whether this is a forked child's copy."""
        return self._pid != os.getpid()

    def follow(self, other: Feeder) -> None:
        """Begin where another feeder's next iteration would; its samples or transforms were
        changed."""
        self.at, self._next_begin, self._bad_at, self._state = other.at, other.next, other._bad_at, other._state
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
            self._say,
        )
        for note in session.opened.get("notes", ()):
            self._say(note)
        return session

    @property
    def _fence(self) -> Callable[[], Any]:
        ours = weakref.ref(self)

        def fence() -> Any:
            feeder = ours()
            return feeder.fence() if feeder is not None else None

        return fence

    def _open_again(self) -> Session:
        """Return the session for a new iteration. If the last one ended with Pillow, a daemon is
        tried."""
        if self._is_by_pillow():
            self.report()  # it is lost with the session
            without = self._session
            assert without is not None
            self._session = None
            try:
                self._check_same(self.open())
                without.close()
            except (Gone, OSError, StokerError):
                self._end_session(Gone("it has ended"))
                self._session, without.computed = without, 0  # type: ignore[attr-defined]
        return self.open()

    def _check_state_fits(self, state: dict[str, Any], opened: dict[str, Any]) -> None:
        """Raise StokerError if a state is of other samples or another pipeline."""
        if state["manifest"] != opened["manifest"][:DIGITS]:
            raise StokerError(
                f"the state belongs to other samples (manifest {state['manifest']}, {self.spec['root']} has "
                f"{opened['manifest'][:DIGITS]}): "
                "files were added, removed, renamed or given other labels since: restore them, or begin "
                "without the state"
            )
        if state["pipeline"] != opened["pipeline"][:DIGITS]:
            raise StokerError(
                "the state belongs to another pipeline: transforms, dtype, layout or shuffle differ: give the "
                "loader those of the run that wrote it"
            )
        if state["consumed"] > opened["samples"]:
            raise StokerError(
                f"the state says that {state['consumed']} samples were consumed, but an epoch has "
                f"{opened['samples']}: it is damaged"
            )

    def close(self) -> None:
        """End the session. The next iteration begins another one at the same position."""
        if self._live:
            self._next_begin = self.at
        self._live = False
        self._ahead = None
        if self._session is not None:
            with contextlib.suppress(StokerError):
                self.report(ending=True)  # it would be lost with the session
            self._session.close()
            self._session = None

    def _handle_error(self) -> None:
        """End the session after an error. The next iteration continues after the last batch handed
        out."""
        self.close()

    def _replace_daemon(self, error: Gone) -> None:
        """Continue at the same position with another daemon, or else with Pillow."""
        why, worked = error, self._worked
        while True:
            self._end_session(error)
            if isinstance(error, Unread) or not self._deaths.bear(worked):
                return self._continue_with_pillow(why)
            worked = False
            try:
                self._resume(self._check_same(self.open()))
            except Gone as another:
                error = another
            except OSError as another:
                return self._continue_with_pillow(Gone(f"{why}, and another one cannot be started: {another}"))
            else:
                say(f"{why}: another daemon goes on at {self._taken}")
                return

    def _continue_with_pillow(self, error: Gone) -> None:
        """Compute batches by Pillow for a while. Raises the error if Pillow cannot."""
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

    def _is_by_pillow(self) -> bool:
        """Whether Pillow computes the batches."""
        return hasattr(self._session, "computed")

    def _try_a_daemon(self) -> None:
        """Return from Pillow to a daemon, once Pillow has done as much as a daemon computes ahead.

        The work that the daemon may have died of is then done.
        """
        session: Any = self._session
        if self._is_by_pillow() and session.computed >= session.ring.slots and self._left:
            self._deaths.recover()
            if self._deaths.bear(True):
                self._session = None
                try:
                    self._resume(self._check_same(self.open()))
                    session.close()
                except (Gone, OSError):
                    self._end_session(Gone("it has ended"))
                    self._session, session.computed = session, -(1 << 30)  # not again in this iteration
                    self._resume(session)

    def _end_session(self, error: Gone) -> None:
        """Give up the session and its daemon."""
        if self._session is not None:
            self._expected = {name: self._session.opened.get(name) for name in ("samples", "manifest", "pipeline")}
            self._last = self._session.opened, self._session.ring
            self._session.give_up(error)
        self._session = self._ahead = None

    def _check_same(self, session: Session) -> Session:
        """Raise StokerError unless a new session has the same samples as the last one."""
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
        """Make a new session continue where the last one ended, and report what that one did not."""
        if self._finished is not None and (self._report is None or self.place.world > 1):
            finished = self._finished[1]
            self._begin_at(session, finished, once=True)
            self._finished = session.run, finished
            self._report = None
            self._ask_report(session, ending=True)
        if self._live and self._left:
            self._begin_at(session, self._taken)

    def _begin_at(self, session: Session, taken: _Progress, **more: Any) -> None:
        session.start(taken.epoch, taken.begun, taken.bad_so_far, **taken.resume_fields(), **more)

    # Positions.

    @property
    def batch(self) -> int:
        """Samples that all ranks together consume in a step."""
        return self.spec["batch"] * self.spec["world"]

    def steps(self, samples: int, consumed: int = 0) -> int:
        """Return the steps from a position to the end of its epoch."""
        return Plan(samples, self.spec["world"], self.spec["batch"], self.spec["tail"]).steps(min(consumed, samples))

    @property
    def next(self) -> tuple[int, int]:
        """Where the next iteration begins. An iteration that has taken no batch does not count."""
        if self._next_begin is not None:
            return self._next_begin
        return self._begun if self._live and self._untouched else (self.at[0] + 1, 0)

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration one of this epoch: from its start, or from a loaded state."""
        if epoch < 0:
            raise ValueError(f"epoch {epoch}: expected 0 or more")
        if self.next[0] != epoch:
            self._next_begin = (epoch, 0)

    def skip(self, batches: int) -> None:
        """Leave out batches of the current iteration, or of the next one. Nothing is read for it."""
        if batches < 0:
            raise ValueError(f"skip of {batches} batches: expected 0 or more")
        if not self._live:
            self._next_begin = (self.next[0], self.next[1] + batches * self.batch)
            return
        session = self.open()
        samples = session.opened["samples"]
        epoch, consumed = self.at
        self.at = epoch, min(consumed + batches * self.batch, samples)
        self._untouched = False
        self._start(samples)

    def state(self) -> dict[str, Any]:
        """Return the position, with digests of samples and pipeline; at most 200 bytes as JSON."""
        opened = self.open().opened
        epoch, consumed = self.at if self._live else self.next
        return {
            "format": FORMAT,
            "manifest": opened["manifest"][:DIGITS],
            "pipeline": opened["pipeline"][:DIGITS],
            "seed": self.spec["seed"],
            "epoch": epoch,
            "consumed": min(consumed, opened["samples"]),
            "bad": self._count_bad_before((epoch, consumed)),
        }

    def _count_bad_before(self, position: tuple[int, int]) -> int:
        """Return how many samples of its epoch before a position are known to be bad."""
        known, bad = self._bad_at
        return bad if position[0] == known[0] and position[1] >= known[1] else 0

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a state in the next iteration; rank and world may have changed."""
        state = _check_state(state)
        if self._session is not None:
            self._check_state_fits(state, self._session.opened)
        self._live = False
        if state["seed"] != self.spec["seed"]:  # the order depends on it, so another session is needed
            self.close()
            self.spec["seed"] = state["seed"]
        self._state = state if self._session is None else None
        self._next_begin = (state["epoch"], state["consumed"])
        self._bad_at = self._next_begin, state["bad"]

    # Batches.

    def begin(self) -> int:
        """Begin an iteration. Returns its number."""
        self._deaths.iteration()
        session = self._open_again()
        self._iteration += 1
        if self._live and self._untouched and self.next == self._begun:
            return self._iteration
        follows = self._ahead is not None and self.next == (self._ahead[1] + 1, 0)
        self.at = self._begun = self.next
        self._next_begin = None
        self._live = self._untouched = True
        self._start(session.opened["samples"], follows)
        return self._iteration

    def _start(self, samples: int, follows: bool = False) -> None:
        """Start at the trainer's position. If it follows the last iteration, its first batches are
        ready."""
        epoch, consumed = self.at
        self.at = epoch, min(consumed, samples)
        self._left = self._due = self.steps(samples, consumed)
        self._taken = _Progress(*self.at, self._count_bad_before(self.at))
        self._ahead = None
        if self._left and not follows:
            self._ask(lambda session: self._begin_at(session, self._taken), resumed=True)

    def _ask(self, ask: Callable[[Session], T], resumed: bool = False) -> T:
        """Ask the session, or another one if it dies; resumed: the new session then needs no
        question."""
        while True:
            self._try_a_daemon()
            session = self.open()
            try:
                return ask(session)
            except Gone as error:
                self._replace_daemon(error)
                if resumed:
                    return None  # type: ignore[return-value]
            except StokerError:
                self._handle_error()
                raise

    def is_going(self, iteration: int) -> bool:
        """Whether this iteration was begun last and may continue."""
        return self._live and iteration == self._iteration

    def count_left(self, iteration: int) -> int:
        """Return the steps of this iteration still to come."""
        if not self.is_going(iteration):
            raise StokerError(
                "this iteration is over: a newer one has begun, a state was loaded, or the loader was closed: "
                "two at a time need a loader each"
            )
        return self._left

    def take(self, wait: bool = True) -> Delivery | None:
        """Return the next batch; None if it has not arrived and wait is False."""
        delivery = self._ask(lambda session: self._next_of(session, wait))
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

    def mark_handed(self, delivery: Delivery) -> None:
        """Note that the trainer has this batch now."""
        self.at = delivery.packet["epoch"], delivery.packet["consumed"]
        self._bad_at = self.at, delivery.packet.get("bad_so_far", 0)
        self._due -= 1
        if self._due == 0 and self._session is not None:  # some trainers count, and never ask for one batch too many
            self._ahead = None if self._is_by_pillow() else (self._session.run, self.at[0])
            self._finished = self._session.run, self._taken
            self._report = None

    def mark_over(self) -> None:
        """Note that the trainer knows of the iteration's end."""
        self._live = False

    def hold(self, delivery: Delivery, last: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the batch's images and labels, in the ring's memory, on loan until they are
        dropped.

        They are a copy if the trainer keeps so many batches that the daemon has no free slot, and
        for the last batch of an epoch, whose loan would delay the report.
        """
        session = self.open()
        slot = delivery.packet["slot"]
        fields = session.ring.fields(delivery.memory, delivery.packet["count"])
        session.loans.lend(slot, delivery.memory)
        crowded = session.loans.count_held() >= max(2, session.ring.slots)
        if crowded:
            self.copies += 1
            if self.copies == 1:
                self._say(
                    f"{session.ring.slots - 1} batches are kept by the trainer: further ones are copied, "
                    f"depth= makes room for more"
                )
        if crowded or last:
            fields = np.copy(fields[0], order="K"), np.copy(fields[1])
            session.loans.give_back(slot, _Done())
            session.loans.poll()
        return fields

    def which(self, delivery: Delivery) -> Which:
        """Return the samples of a batch; call it before the slot is given back."""
        packet = delivery.packet
        return Which(packet, self.open().ring.indices(packet["slot"], packet["count"]))

    def borrow(self, delivery: Delivery) -> tuple[np.ndarray, np.ndarray]:
        """Return the batch's images and labels, until give_back."""
        return self.open().ring.fields(delivery.memory, delivery.packet["count"])

    def give_back(self, delivery: Delivery, fence: Fence) -> None:
        """End a borrow."""
        self.open().loans.give_back(delivery.packet["slot"], fence)

    def _note(self, session: Session, packet: dict[str, Any]) -> None:
        found = packet.get("bad")
        if not found:
            return
        bad = self._taken.named
        if not bad:
            first = found[0]
            self._say(
                f"{first['path']}: {first['reason']}, and this epoch's further bad samples are named by loader.report"
            )
        bad.extend(found[: BAD_KEPT - len(bad)])

    def report(self, ending: bool = False) -> dict[str, Any] | None:
        """Return the report of the last epoch that ended; None while one of its batches is held."""
        if self._report is None and self._finished is not None and self._session is not None:
            if ending:
                self._ask_report(self._session, ending)
            else:
                self._ask(lambda session: self._report is None and self._ask_report(session))
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
    """The fence of memory that no device reads."""

    def query(self) -> bool:
        return True


# The fields of a state with their largest numbers; the other fields are digests.
_LARGEST = {"format": (1 << 63) - 1, "seed": (1 << 64) - 1, "epoch": (1 << 32) - 1, "consumed": 1 << 40, "bad": 1 << 40}
_DIGESTS = ("manifest", "pipeline")


def _check_state(state: object) -> dict[str, Any]:
    """Return a copy of a state after checking each field."""
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
    """Return a name that is the same on all ranks, and differs between loaders."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    name = f"{os.path.basename(spec['root'].rstrip('/')) or 'root'}-{digest}"
    number = next(_names.setdefault(name, itertools.count(1)))
    return name if number == 1 else f"{name}-{number}"


class Which:
    """The samples of a batch. They are computed on access, as few trainers ask."""

    def __init__(self, packet: dict[str, Any], numbers: bytearray) -> None:
        self._packet = packet
        self._numbers = numbers

    @functools.cached_property
    def indices(self) -> np.ndarray:
        """Their numbers in the data set."""
        return np.frombuffer(self._numbers, np.int64)

    @functools.cached_property
    def mask(self) -> np.ndarray:
        """True for those that count in training."""
        learned = np.ones(self._packet["count"], bool)
        learned[self._packet.get("mask", [])] = False
        return learned
