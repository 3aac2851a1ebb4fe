"""stoker.DataLoader: torch.utils.data.DataLoader, fed by the daemon where that gives the same."""

from __future__ import annotations

import math
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
import torch.utils.data

from .._limits import find_lack
from .._place import Place, here
from .._verbs import StokerError
from .._warning import warn
from ..daemon.session import Delivery, Gone, Session
from ..deferred.deferring import deferring
from .batches import POLICIES, TAILS, make_options, make_spec
from .cuda import Cuda, Uploader
from .dataset import Samples, folder_of, samples_of
from .order import Plan
from .plainly import Plainly
from .position import Feeder, Which
from .sampler import InOrder, Shuffled
from .translate import Refused, translate

MOST = 8192  # samples of a batch
T = TypeVar("T", covariant=True)

_cuda = Cuda(torch)  # tests put a stand-in here


class DataLoader(torch.utils.data.DataLoader[T]):
    """Batches of images and labels as torch tensors, prepared by stoker feed.

    It is torch's DataLoader, with its arguments. Where the data set is a torchvision
    ImageFolder, or a Subset of one, whose transform can be translated, iterating it
    hands out what the daemon made; else it is torch's own iteration, and one line
    says why. Which of the two is looked at anew at the beginning of each epoch, as are
    files, labels, transforms and order. docs/loader.md says what every argument means.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        seed: int | None = None,
        dtype: str | torch.dtype | None = None,
        channels_last: bool = False,
        tail: str | None = None,
        on_error: str = "fail",
        max_bad: float | None = None,
        max_pixels: int | None = None,
        device: str | torch.device | None = None,
        normalize_on_device: bool = False,
        rank: int | None = None,
        world: int | None = None,
        nice: int | None = None,
        depth: int | None = None,
        name: str | None = None,
        record: str | os.PathLike[str] | None = None,
        quarantine: str | os.PathLike[str] | None = None,
    ) -> None:
        if on_error not in POLICIES or tail not in (None, *TAILS):
            raise ValueError(f"on_error {on_error!r}, tail {tail!r}: expected one of {POLICIES} and one of {TAILS}")
        if normalize_on_device and device is None:
            raise ValueError("normalize_on_device=True needs device=")
        if tail is not None and drop_last and tail != "drop":
            raise ValueError(f"drop_last=True is tail='drop', tail={tail!r} was given as well")
        # By their names: who makes such a loader again, as Lightning does, looks for the arguments here.
        self.seed, self.dtype, self.channels_last, self.tail = seed, _dtype(dtype), channels_last, tail
        self.on_error, self.max_bad, self.max_pixels = on_error, max_bad, max_pixels
        self.nice, self.depth, self.name = nice, depth, name
        self.rank, self.world, self.record, self.quarantine = rank, world, record, quarantine
        self.device, self.normalize_on_device = None if device is None else torch.device(device), normalize_on_device
        self._place = _place(sampler, rank, world)
        self._seed = _seed(seed, sampler, generator, self._place)
        if seed is not None and generator is None and self._place.world == 1:
            generator = torch.Generator().manual_seed(seed)  # for torch's own iteration
        self._shuffle, self._given = bool(shuffle), sampler
        self._epoch_seen = getattr(sampler, "epoch", None)
        self._epoch = 0  # of the first iteration
        self._forget()
        self._plainly = Plainly(self._place.world)
        more = {} if in_order else {"in_order": False}  # torch before 2.6 does not know it
        super().__init__(
            dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory, drop_last, timeout, worker_init_fn,
            multiprocessing_context, generator, prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device, **more,
        )  # fmt: skip
        self._order = self._plain = self._torchs = self.sampler
        self._splits = (
            self._place.world > 1
            and sampler is None
            and self.batch_size is not None
            and not isinstance(dataset, torch.utils.data.IterableDataset)
        )
        if self._splits:
            self._torchs = torch.utils.data.distributed.DistributedSampler(
                dataset, self._place.world, self._place.rank, self._shuffle, self._seed & (1 << 32) - 1, drop_last
            )
        self._look()

    def _forget(self) -> None:
        """What a loader that was just made, or copied, knows of its iterations."""
        self._fed: _Fed | None = None  # what they are fed from; None: they are torch's own
        self._why = ""  # they are torch's own
        self._said: set[str] = set()
        self._before: Feeder | None = None  # whose place the next one takes
        self._which: Which | None = None  # the samples of the batch that was handed out last

    # Which of the two ways.

    def _look(self) -> None:
        """See what the objects that this loader was given are now."""
        if self._before is not None and self._before.inherited():  # a forked child's copy
            self._epoch = self._before.next[0]
            self._forget()
        try:
            recipe = self._recipe()
        except Refused as why:
            self._leave(str(why))
            return
        if self._fed is None or not self._fed.recipe.same(recipe):
            self._feed(recipe)
        assert self._fed is not None
        self._fed.targets = recipe.targets

    def _recipe(self) -> _Recipe:
        """What an iteration is to be fed from; Refused where only torch can make it."""
        self._refuse_arguments()
        folder, indices = folder_of(self.dataset)
        ops, notes = translate(folder.transform)
        normalize: dict[str, Any] | None = None
        if self.normalize_on_device:
            if ops[-1]["op"] == "pil_to_tensor":
                raise ValueError("normalize_on_device=True needs a transform that ends in floats")
            normalize = ops[-1] if ops[-1]["op"] == "normalize" else {}
            ops = [op for op in ops if op["op"] not in ("to_tensor", "normalize")] + [{"op": "pil_to_tensor"}]
        samples = samples_of(folder, indices)
        shuffle, tail = self._arrangement()
        spec = make_spec(
            root=samples.root,
            ops=ops,
            batch=self.batch_sampler.batch_size,
            shuffle=shuffle,
            seed=self._seed,
            dtype=None if self.normalize_on_device or self.dtype is None else str(self.dtype).removeprefix("torch."),
            channels_last=self.channels_last,
            tail=tail,
            samples=None,
            on_error=self.on_error,
            max_bad=self.max_bad,
            max_pixels=self.max_pixels,
            depth=self.depth,
            name=self.name,
        )
        return _Recipe(spec, samples, normalize, folder.target_transform, notes)

    def _refuse_arguments(self) -> None:
        """Refuse what the daemon does not do of torch's arguments, as they are now."""
        data = torch.utils.data
        batches, sampler = self.batch_sampler, self._given
        if batches is None:
            raise Refused("batch_size=None asks for single samples")
        if self.batch_size is None or type(batches) is not data.BatchSampler or batches.sampler is not self._order:
            raise Refused("batch_sampler= decides which samples make a batch")
        if batches.batch_size > MOST:
            raise Refused(
                f"batch_size {batches.batch_size} is more than the {MOST} samples that the daemon hands over at a time"
            )
        if self.collate_fn is not data.default_collate:
            raise Refused(
                f"collate_fn {getattr(self.collate_fn, '__name__', type(self.collate_fn).__name__)} makes the batches"
            )
        if self.worker_init_fn is not None:
            raise Refused("worker_init_fn= needs torch's workers")
        if sampler is None:
            return
        kind = type(sampler)
        if kind not in (data.RandomSampler, data.SequentialSampler, data.distributed.DistributedSampler):
            raise Refused(f"sampler {kind.__name__} decides the order")
        if kind is data.RandomSampler and (sampler.replacement or sampler.num_samples != len(self.dataset)):
            raise Refused("RandomSampler draws with replacement or another number of samples")
        of = getattr(sampler, "data_source", getattr(sampler, "dataset", None))
        if of is not self.dataset and len(of) != len(self.dataset):
            raise Refused("the sampler is of another data set")

    def _arrangement(self) -> tuple[bool, str]:
        """Whether samples are shuffled, and what becomes of the last ones."""
        shuffle, drop_last = (
            self._shuffle or type(self._given) is torch.utils.data.RandomSampler,
            self.batch_sampler.drop_last,
        )
        tail = "drop" if drop_last else "even" if self._place.world > 1 else "short"
        if type(self._given) is torch.utils.data.distributed.DistributedSampler:
            shuffle = self._given.shuffle
            tail = ("drop" if drop_last else "trim") if self._given.drop_last else "even-drop" if drop_last else "even"
        return shuffle, self.tail or tail

    def _feed(self, recipe: _Recipe) -> None:
        """The daemon from here on, at the place where this loader is."""
        for note in recipe.notes:
            self._say(note)
        if self._splits:
            self._say(
                f"samples are split among the {self._place.world} ranks, as by a DistributedSampler. rank=0, "
                f"world=1 gives each rank all of them"
            )
        options = make_options(self.num_workers, self._place.local_world, self.nice, self.record, self.quarantine)
        feeder = Feeder(recipe.spec, self._place, options, self.timeout or math.inf, warn, recipe.samples.encoded)
        feeder.fence = _cuda.fence
        if self._before is None:
            feeder.set_epoch(self._epoch)
        else:
            feeder.follow(self._before)
        self._before, self._why = feeder, ""
        self._fed = _Fed(recipe, feeder, self.dtype or torch.float32)
        order = (Shuffled if recipe.spec["shuffle"] else InOrder)(self.dataset, feeder)
        self._use(order if self._given is None else self._given, order)

    def _leave(self, why: str) -> None:
        """Torch's own iteration from here on."""
        if self._fed is not None and self._before is not None and hasattr(self._torchs, "set_epoch"):
            self._torchs.set_epoch(self._before.next[0])
        self._fed = None
        if why != self._why:
            self._why = why
            warn(f"{why}: this loader is torch's own DataLoader")
            self.check_worker_number_rationality()
        batches = self.batch_sampler
        if (
            self._order is not self._torchs and getattr(batches, "sampler", None) is self._order
        ):  # else somebody has replaced it
            self._use(self._torchs, self._torchs)

    def _use(self, sampler: Any, order: Any) -> None:
        """Set the samplers, which torch lets nobody set. Size and drop_last of the batches stay as they are now."""
        batches = self.batch_sampler
        object.__setattr__(self, "sampler", sampler)
        object.__setattr__(
            self, "batch_sampler", torch.utils.data.BatchSampler(order, batches.batch_size, batches.drop_last)
        )
        self._order = order

    def _say(self, note: str) -> None:
        if note not in self._said:
            self._said.add(note)
            warn(note)

    def check_worker_number_rationality(self) -> None:
        """Torch's warning of more workers than cores, where there are workers."""
        if self._why:
            super().check_worker_number_rationality()

    # What torch's DataLoader has.

    def __len__(self) -> int:
        """Steps of an epoch, on every rank."""
        if self._fed is None:
            return super().__len__()
        return Plan(len(self.dataset), self._place.world, self.batch_sampler.batch_size, self._arrangement()[1]).steps(
            0
        )

    def __iter__(self) -> Iterator[Any]:
        """Begin an iteration: of the next epoch, or where set_epoch, skip or load_state_dict say."""
        self._look()
        if self._fed is not None and self._fed.feeder.next[1] == 0 and (lack := find_lack()):
            self._leave(lack)
        if self._fed is not None:
            try:
                return self._iterate()
            except (Gone, OSError) as error:
                if self._fed.feeder.next[1] > 0:  # of an epoch that was begun torch cannot make the rest
                    raise
                self._leave(str(error))
        with deferring():
            return self._moved(self._plainly.begin(self, super().__iter__))

    @property
    def _index_sampler(self) -> Any:
        """What torch's own iteration asks for indices."""
        return self._plainly.passing(super()._index_sampler)

    def _iterate(self) -> _Batches:
        """Begin an iteration that is fed. The hook of stoker observe stands here."""
        assert self._fed is not None
        epoch = getattr(self._given, "epoch", None)
        if epoch is not None and epoch != self._epoch_seen:  # a DistributedSampler, told by the trainer
            self._fed.feeder.set_epoch(epoch)
        self._epoch_seen = epoch
        on_host = self.device is None or (self.device.type == "cpu" and self._fed.numbers is None)
        return (_Batches if on_host else _Uploaded)(self, self._fed)

    def _moved(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What device= and dtype= mean where the iteration is torch's own."""
        return batches if self.device is None and self.dtype is None else map(self._move, batches)

    def _move(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            dtype = self.dtype if self.dtype is not None and value.is_floating_point() else None
            return value.to(device=self.device, dtype=dtype, non_blocking=True) if dtype or self.device else value
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(self._move(item) for item in value)
        return {key: self._move(item) for key, item in value.items()} if type(value) is dict else value

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or a loader that is sent to another process, begins its own session, with the epoch that is next
        here."""
        batches = self.batch_sampler
        if self._fed is not None:
            batches = torch.utils.data.BatchSampler(self._torchs, batches.batch_size, batches.drop_last)
        changed = {"sampler": self._torchs, "batch_sampler": batches, "_order": self._torchs, "_iterator": None}
        changed["_plainly"] = Plainly(self._place.world)
        changed["_epoch"] = self._epoch if self._before is None else self._before.next[0]
        return {
            name: value for name, value in vars(self).items() if name not in ("_fed", "_before", "_which")
        } | changed

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()
        self._look()

    @property
    def _is_accelerate_prepared(self) -> bool:
        """Accelerate asks this of what it is to prepare; what is prepared it leaves as it is.

        It asks nothing else, so this is the moment.
        """
        if self._fed is None:
            if self._splits:  # it splits the samples itself
                self._splits, self._torchs = False, self._plain
                self._use(self._plain, self._plain)
            return False
        from .accelerate import prepare

        prepare(self)
        return True

    @_is_accelerate_prepared.setter
    def _is_accelerate_prepared(self, prepared: bool) -> None:
        pass

    # What torch's has not.

    @property
    def mask(self) -> torch.Tensor | None:
        """Of the batch that was handed out last: True where it is to be learned from."""
        return None if self._which is None else torch.from_numpy(self._which.mask)

    @property
    def indices(self) -> torch.Tensor | None:
        """Of that batch's samples in dataset."""
        return None if self._which is None else torch.from_numpy(self._which.indices)

    @property
    def translated(self) -> bool:
        """Whether the daemon reads and decodes; False: it is torch's own loader."""
        return self._fed is not None

    @property
    def _feeder(self) -> Feeder | None:
        return None if self._fed is None else self._fed.feeder

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is of this epoch."""
        if self._fed is not None:
            self._fed.feeder.set_epoch(epoch)
        elif hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def skip(self, batches: int) -> None:
        """Leave out batches of the iteration under way, or of the next one."""
        if self._fed is None:
            raise StokerError("skip is not possible here: this loader is torch's own")
        self._fed.feeder.skip(batches)

    def state_dict(self) -> dict[str, Any]:
        """The position behind the last batch that was handed out. Where the loader is torch's own, what transforms draw
        is not in it; it is empty where the next iteration begins an epoch."""
        return self._plainly.state() if self._fed is None else self._fed.feeder.state()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration goes on from a state. One that is fed takes that of any rank and world."""
        if self._fed is None:
            self._plainly.load(state)
        elif "batches" in state:
            raise StokerError("this loader is fed, and cannot go on from a state of one that was torch's own")
        else:
            self._fed.feeder.load(state)
            self._seed = self._fed.recipe.spec["seed"] = self._fed.feeder.spec["seed"]

    @property
    def report(self) -> dict[str, Any] | None:
        """What became of the last whole epoch; None before its end, and while one of its batches is held."""
        return None if self._fed is None else self._fed.feeder.report()

    def close(self) -> None:
        """End the session with the daemon. Batches that are held stay valid."""
        if self._fed is not None:
            self._fed.feeder.close()

    def __enter__(self) -> DataLoader[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _part(self, fed: _Fed) -> _Fed:
        """A session of its own for an iteration that begins while an older one goes on."""
        if self._fed is fed:
            self._feed(fed.recipe)
            assert self._fed is not None
            self._fed.targets = fed.targets
            if fed.feeder.next == fed.feeder.at:  # begun, but no batch was taken yet
                self._fed.feeder.set_epoch(fed.feeder.at[0] + 1)
        return self._fed or fed


class _Recipe(NamedTuple):
    """All that decides what is handed out."""

    spec: dict[str, Any]
    samples: Samples
    normalize: dict[str, Any] | None  # on the device; None: nothing is computed there
    targets: Callable[[Any], Any] | None  # the data set's target_transform
    notes: list[str]

    def same(self, other: _Recipe) -> bool:
        """Whether a session may go on."""
        return self.spec == other.spec and self.normalize == other.normalize and self.samples.same(other.samples)


class _Fed:
    """A session with the daemon, and what is made of its batches.

    It ends when neither loader nor iterations need it.
    """

    def __init__(self, recipe: _Recipe, feeder: Feeder, dtype: torch.dtype) -> None:
        self.recipe = recipe
        self.feeder = feeder
        self.targets = recipe.targets
        self.numbers = None if recipe.normalize is None else _Numbers(recipe.normalize, dtype)
        self.pins = _Pins()
        self.owner: weakref.ref[_Batches] | None = None  # the iteration that was begun last
        weakref.finalize(self, Feeder.close, feeder)

    def labels(self, labels: np.ndarray, which: Which, targets: Callable[[Any], Any] | None) -> Any:
        """As default_collate makes them of what the data set has."""
        if targets is None and self.recipe.samples.integers:
            return torch.from_numpy(labels)
        rows = self.recipe.samples.rows
        values = [rows[i][1] for i in which.indices]
        if targets is not None:
            values = [targets(value) for value in values]
        return torch.utils.data.default_collate(tuple(values)) if values else torch.from_numpy(labels)


class _Batches(Iterator[Any]):
    """One iteration that hands out the ring's memory."""

    def __init__(self, loader: DataLoader[Any], fed: _Fed) -> None:
        self._loader = loader
        self._fed = fed
        self._targets = fed.targets
        self._iteration = 0
        self._over = False
        if not self._taken():  # else it may be gone when the first batch is asked for
            self._begin()

    def _taken(self) -> bool:
        """Whether another iteration of this session is under way, and somebody has it."""
        owner = self._fed.owner and self._fed.owner()
        return owner is not None and owner.going()

    def going(self) -> bool:
        """Whether it was begun and may go on."""
        return not self._over and self._fed.feeder.going(self._iteration)

    def _begin(self) -> None:
        if self._taken():
            self._fed = self._loader._part(self._fed)
        self._iteration = self._fed.feeder.begin()
        self._fed.owner = weakref.ref(self)

    def _left(self) -> int:
        """Batches that are to come."""
        if self._over:
            return 0
        if not self._iteration:
            self._begin()
        return self._fed.feeder.left(self._iteration)

    def ended(self) -> bool:
        """Whether the batch that was handed out last is the last one."""
        return self._left() == 0

    def __next__(self) -> Any:
        left = self._left()
        if left == 0:
            raise self._end()
        feeder = self._fed.feeder
        self._fed.pins.pin(feeder.open())
        delivery = feeder.take()
        assert delivery is not None
        which = feeder.which(delivery)
        tensors = self._tensors(feeder.hold(delivery, last=left == 1), which)
        self._handed(delivery, which)
        return tensors

    def _tensors(self, fields: tuple[np.ndarray, ...], which: Which) -> list[Any]:
        """Images and labels, still on the host."""
        images, labels = fields
        return [_tensor(images, self._fed.feeder.spec), self._fed.labels(labels, which, self._targets)]

    def _handed(self, delivery: Delivery, which: Which) -> None:
        self._loader._which = which
        self._fed.feeder.handed(delivery)

    def _end(self) -> StopIteration:
        if not self._over:
            self._over = True
            self._fed.feeder.over()
        return StopIteration()


class _Uploaded(_Batches):
    """One iteration that hands out tensors on the device, a batch ahead where one is ready."""

    def __init__(self, loader: DataLoader[Any], fed: _Fed) -> None:
        self._uploader = _uploader(loader.device)
        super().__init__(loader, fed)
        self._ahead: _Staged | None = None

    def ended(self) -> bool:
        return self._left() == 0 and self._ahead is None

    def __next__(self) -> Any:
        if self.ended():
            raise self._end()
        staged = self._ahead or self._stage(wait=True)
        assert staged is not None
        self._ahead = None
        tensors = staged.receive()
        self._handed(staged.delivery, staged.which)
        if self._left():
            self._ahead = self._stage(wait=False)
        return tensors

    def _stage(self, wait: bool) -> _Staged | None:
        """Take a batch and send it to the device; its slot is given back when it has been read."""
        fed, feeder = self._fed, self._fed.feeder
        fed.pins.pin(feeder.open())
        delivery = feeder.take(wait)
        if delivery is None:
            return None
        which = feeder.which(delivery)
        tensors, copied, done = self._uploader.send(self._tensors(feeder.borrow(delivery), which), self._finish)
        feeder.give_back(delivery, copied)
        return _Staged(delivery, which, self._uploader, tensors, done)

    def _finish(self, tensors: list[Any]) -> list[Any]:
        """What is computed on the device."""
        numbers = self._fed.numbers
        return tensors if numbers is None else [numbers(tensors[0]), *tensors[1:]]


class _Staged:
    """A batch on its way to the device."""

    def __init__(self, delivery: Delivery, which: Which, uploader: Any, tensors: list[Any], done: Any) -> None:
        self.delivery = delivery
        self.which = which
        self._uploader = uploader
        self._tensors = tensors
        self._done = done

    def receive(self) -> list[Any]:
        return self._uploader.receive(self._tensors, self._done)


class _Copier:
    """The Uploader of devices without streams of ours: it copies, and that is it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def send(self, tensors: list[Any], finish: Any) -> tuple[list[Any], Any, Any]:
        copies = [
            tensor.to(self._device, copy=True) if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors
        ]
        return finish(copies), _Copied(), None

    def receive(self, tensors: list[Any], done: Any) -> list[Any]:
        return tensors


class _Copied:
    def query(self) -> bool:
        return True


def _uploader(device: torch.device | None) -> Any:
    return (
        Uploader(_cuda, device)
        if device is not None and device.type == "cuda"
        else _Copier(device or torch.device("cpu"))
    )


class _Numbers:
    """to_tensor and normalize, on whatever device the pixels are."""

    def __init__(self, normalize: dict[str, Any], dtype: torch.dtype) -> None:
        self._mean = torch.tensor(normalize.get("mean", [0.0])).reshape(1, -1, 1, 1)
        self._std = torch.tensor(normalize.get("std", [1.0])).reshape(1, -1, 1, 1)
        self._dtype = dtype

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        self._mean, self._std = self._mean.to(pixels.device), self._std.to(pixels.device)
        return pixels.to(torch.float32).div_(255).sub_(self._mean).div_(self._std).to(self._dtype)


class _Pins:
    """Page-locks the ring once, as soon as this process uses CUDA."""

    def __init__(self) -> None:
        self._tried: weakref.ref[Session] | None = None

    def pin(self, session: Session) -> None:
        if (self._tried is not None and self._tried() is session) or not _cuda.live() or not session.ring.memory.nbytes:
            return
        self._tried = weakref.ref(session)
        memory = session.ring.memory
        why = _cuda.pin(memory.ctypes.data, memory.nbytes)
        if why:
            warn(
                f"the ring cannot be page-locked ({why}): copies to the GPU take the slower way through pageable memory"
            )
            return
        weakref.finalize(memory, _unpin, memory.ctypes.data, os.getpid()).atexit = False


def _unpin(address: int, pid: int) -> None:
    """In front of the end of the mapping; never in a forked child, nor at exit, where CUDA goes by itself."""
    if pid == os.getpid() and not sys.is_finalizing():
        _cuda.unpin(address)


def _place(sampler: Any, rank: int | None, world: int | None) -> Place:
    """Ranks: as said, or the sampler's, or the process group's, or the environment's."""
    if rank is None and type(sampler) is torch.utils.data.distributed.DistributedSampler:
        rank, world = sampler.rank, sampler.num_replicas
    if rank is None and torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    return here(rank, world)


def _seed(seed: int | None, sampler: Any, generator: Any, place: Place) -> int:
    """Of order and augmentation: as said, or the sampler's, or the generator's; of several ranks all must have the
    same."""
    if seed is None and type(sampler) is torch.utils.data.distributed.DistributedSampler:
        seed = sampler.seed
    generator = generator or getattr(sampler, "generator", None)
    if seed is None and generator is not None:
        seed = generator.initial_seed()
    if seed is None:
        seed = 0 if place.world > 1 else torch.initial_seed()
    return seed & (1 << 64) - 1


def _tensor(array: np.ndarray, spec: dict[str, Any]) -> torch.Tensor:
    """The array as a tensor over the same memory, which keeps it alive."""
    if spec["output"]["dtype"] == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    known = {"uint8": torch.uint8, "float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
    if dtype not in known:
        raise ValueError(
            f"dtype {dtype!r}: expected {', '.join(map(repr, known))}, or None for what the transform gives"
        )
    return known[dtype]
