"""stoker.DataLoader: torch.utils.data.DataLoader, with batches from the daemon if they are the
same."""

from __future__ import annotations

import math
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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
from .dataset import Samples, find_folder, read_samples
from .order import Plan
from .position import Feeder, Which
from .sampler import InOrder, Shuffled
from .torch_position import TorchPosition
from .translate import Refused, translate

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

MOST = 8192  # samples of a batch
T = TypeVar("T", covariant=True)

_cuda = Cuda(torch)  # tests replace it


class DataLoader(torch.utils.data.DataLoader[T]):
    """Batches of images and labels as torch tensors, prepared by stoker feed.

    It has the arguments of torch's DataLoader. If the data set is a torchvision ImageFolder, or a
    Subset of one, and its transform can be translated, the daemon makes the batches. Otherwise the
    iteration is torch's own, and one line says why. This is decided at the start of each epoch,
    when files, labels, transforms and order are read again. docs/loader.md explains the arguments.
    """

    def __init__(
        self,
        dataset: torch.utils.data.Dataset[T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: torch.Generator | None = None,
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
        # By their names: code that rebuilds the loader, as Lightning does, reads the arguments from
        # them.
        self.seed, self.dtype, self.channels_last, self.tail = seed, _parse_dtype(dtype), channels_last, tail
        self.on_error, self.max_bad, self.max_pixels = on_error, max_bad, max_pixels
        self.nice, self.depth, self.name = nice, depth, name
        self.rank, self.world, self.record, self.quarantine = rank, world, record, quarantine
        self.device, self.normalize_on_device = None if device is None else torch.device(device), normalize_on_device
        self._place = _find_place(sampler, rank, world)
        self._seed = _choose_seed(seed, sampler, generator, self._place)
        if seed is not None and generator is None and self._place.world == 1:
            generator = torch.Generator().manual_seed(seed)  # for torch's own iteration
        self._shuffle, self._given = bool(shuffle), sampler
        self._epoch_seen = getattr(sampler, "epoch", None)
        self._epoch = 0  # of the first iteration
        self._forget()
        self._torch_position = TorchPosition(self._place.world)
        more = {} if in_order else {"in_order": False}  # unknown to torch before 2.6
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
        self._choose()

    def _forget(self) -> None:
        """Reset what a new or copied loader knows of its iterations."""
        self._fed: _Fed | None = None  # the session; None: iterations are torch's own
        self._why = ""  # why they are torch's own
        self._said: set[str] = set()
        self._before: Feeder | None = None  # the next feeder continues from its position
        self._which: Which | None = None  # the samples of the batch handed out last

    # The daemon or torch.

    def _choose(self) -> None:
        """Choose between the daemon and torch, by the loader's current objects."""
        if self._before is not None and self._before.is_inherited():  # a forked child's copy
            self._epoch = self._before.next[0]
            self._forget()
        try:
            recipe = self._make_recipe()
        except Refused as why:
            self._use_torch(str(why))
            return
        if self._fed is None or not self._fed.recipe.is_same(recipe):
            self._use_daemon(recipe)
        assert self._fed is not None
        self._fed.targets = recipe.targets

    def _make_recipe(self) -> _Recipe:
        """Return what the daemon needs for an iteration. Raises Refused if torch has to load."""
        self._refuse_arguments()
        folder, indices = find_folder(self.dataset)
        ops, notes = translate(folder.transform)
        normalize: dict[str, Any] | None = None
        if self.normalize_on_device:
            if ops[-1]["op"] == "pil_to_tensor":
                raise ValueError("normalize_on_device=True needs a transform that ends in floats")
            normalize = ops[-1] if ops[-1]["op"] == "normalize" else {}
            ops = [op for op in ops if op["op"] not in ("to_tensor", "normalize")] + [{"op": "pil_to_tensor"}]
        samples = read_samples(folder, indices)
        shuffle, tail = self._choose_order_and_tail()
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
        """Raise Refused if an argument of torch, as it is now, cannot be handled by the daemon."""
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

    def _choose_order_and_tail(self) -> tuple[bool, str]:
        """Return whether samples are shuffled, and how the last ones are handled."""
        shuffle, drop_last = (
            self._shuffle or type(self._given) is torch.utils.data.RandomSampler,
            self.batch_sampler.drop_last,
        )
        tail = "drop" if drop_last else "even" if self._place.world > 1 else "short"
        if type(self._given) is torch.utils.data.distributed.DistributedSampler:
            shuffle = self._given.shuffle
            tail = ("drop" if drop_last else "trim") if self._given.drop_last else "even-drop" if drop_last else "even"
        return shuffle, self.tail or tail

    def _use_daemon(self, recipe: _Recipe) -> None:
        """Use the daemon from now on, from this loader's position."""
        for note in recipe.notes:
            self._say(note)
        if self._splits:
            self._say(
                f"samples are split among the {self._place.world} ranks, as by a DistributedSampler. rank=0, "
                f"world=1 gives each rank all of them"
            )
        options = make_options(self.num_workers, self._place.local_world, self.nice, self.record, self.quarantine)
        feeder = Feeder(recipe.spec, self._place, options, self.timeout or math.inf, warn, recipe.samples.encode)
        feeder.fence = _cuda.fence
        if self._before is None:
            feeder.set_epoch(self._epoch)
        else:
            feeder.follow(self._before)
        self._before, self._why = feeder, ""
        self._fed = _Fed(recipe, feeder, self.dtype or torch.float32)
        order = (Shuffled if recipe.spec["shuffle"] else InOrder)(self.dataset, feeder)
        self._set_samplers(order if self._given is None else self._given, order)

    def _use_torch(self, why: str) -> None:
        """Use torch's own iteration from now on."""
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
            self._set_samplers(self._torchs, self._torchs)

    def _set_samplers(self, sampler: Iterable[Any], order: Iterable[int]) -> None:
        """Set the samplers, which torch makes read-only. Batch size and drop_last stay as they are."""
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
        """Give torch's warning about more workers than cores, if torch loads."""
        if self._why:
            super().check_worker_number_rationality()

    # The interface of torch's DataLoader.

    def __len__(self) -> int:
        """Return the steps of an epoch, on every rank."""
        if self._fed is None:
            return super().__len__()
        return Plan(len(self.dataset), self._place.world, self.batch_sampler.batch_size, self._choose_order_and_tail()[1]).steps(
            0
        )

    def __iter__(self) -> Iterator[Any]:
        """Begin an iteration: of the next epoch, or where set_epoch, skip or load_state_dict say."""
        self._choose()
        if self._fed is not None and self._fed.feeder.next[1] == 0 and (lack := find_lack()):
            self._use_torch(lack)
        if self._fed is not None:
            try:
                return self._iterate()
            except (Gone, OSError) as error:
                if self._fed.feeder.next[1] > 0:  # torch cannot continue within an epoch
                    raise
                self._use_torch(str(error))
        with deferring():
            return self._move_all(self._torch_position.begin(self, super().__iter__))

    @property
    def _index_sampler(self) -> Any:
        """The sampler of torch's own iteration."""
        return self._torch_position.skip_passing(super()._index_sampler)

    def _iterate(self) -> _Batches:
        """Begin an iteration by the daemon. The hook of stoker observe wraps this method."""
        assert self._fed is not None
        epoch = getattr(self._given, "epoch", None)
        if epoch is not None and epoch != self._epoch_seen:  # the trainer has called set_epoch of a DistributedSampler
            self._fed.feeder.set_epoch(epoch)
        self._epoch_seen = epoch
        on_host = self.device is None or (self.device.type == "cpu" and self._fed.numbers is None)
        return (_Batches if on_host else _Uploaded)(self, self._fed)

    def _move_all(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Apply device= and dtype= to the batches of torch's own iteration."""
        return batches if self.device is None and self.dtype is None else map(self._move, batches)

    def _move(self, value: object) -> Any:
        if isinstance(value, torch.Tensor):
            dtype = self.dtype if self.dtype is not None and value.is_floating_point() else None
            return value.to(device=self.device, dtype=dtype, non_blocking=True) if dtype or self.device else value
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(self._move(item) for item in value)
        return {key: self._move(item) for key, item in value.items()} if type(value) is dict else value

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, which begins its own session with the epoch that is next
        here."""
        batches = self.batch_sampler
        if self._fed is not None:
            batches = torch.utils.data.BatchSampler(self._torchs, batches.batch_size, batches.drop_last)
        changed = {"sampler": self._torchs, "batch_sampler": batches, "_order": self._torchs, "_iterator": None}
        changed["_torch_position"] = TorchPosition(self._place.world)
        changed["_epoch"] = self._epoch if self._before is None else self._before.next[0]
        return {
            name: value for name, value in vars(self).items() if name not in ("_fed", "_before", "_which")
        } | changed

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()
        self._choose()

    @property
    def _is_accelerate_prepared(self) -> bool:
        """Whether Accelerate has prepared the loader; reading it prepares the loader.

        Accelerate reads this attribute first and nothing before, so this is the moment to prepare.
        """
        if self._fed is None:
            if self._splits:  # Accelerate splits the samples itself
                self._splits, self._torchs = False, self._plain
                self._set_samplers(self._plain, self._plain)
            return False
        from .accelerate import prepare

        prepare(self)
        return True

    @_is_accelerate_prepared.setter
    def _is_accelerate_prepared(self, prepared: bool) -> None:
        pass

    # Beyond torch's interface.

    @property
    def mask(self) -> torch.Tensor | None:
        """For the batch handed out last: True for samples that count in training."""
        return None if self._which is None else torch.from_numpy(self._which.mask)

    @property
    def indices(self) -> torch.Tensor | None:
        """For that batch: the numbers of its samples in dataset."""
        return None if self._which is None else torch.from_numpy(self._which.indices)

    @property
    def translated(self) -> bool:
        """Whether the daemon reads and decodes; False if torch loads."""
        return self._fed is not None

    @property
    def _feeder(self) -> Feeder | None:
        return None if self._fed is None else self._fed.feeder

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration one of this epoch."""
        if self._fed is not None:
            self._fed.feeder.set_epoch(epoch)
        elif hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def skip(self, batches: int) -> None:
        """Leave out batches of the current iteration, or of the next one."""
        if self._fed is None:
            raise StokerError("skip is not possible here: this loader is torch's own")
        self._fed.feeder.skip(batches)

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the last batch that was handed out.

        If torch loads, random numbers of transforms are not part of it. It is empty if the next
        iteration begins an epoch.
        """
        return self._torch_position.state() if self._fed is None else self._fed.feeder.state()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state in the next iteration. A translated loader takes states of any rank
        and world."""
        if self._fed is None:
            self._torch_position.load(state)
        elif "batches" in state:
            raise StokerError("this loader reads from the daemon, and cannot continue from a state of torch's own DataLoader")
        else:
            self._fed.feeder.load(state)
            self._seed = self._fed.recipe.spec["seed"] = self._fed.feeder.spec["seed"]

    @property
    def report(self) -> dict[str, Any] | None:
        """The report of the last whole epoch; None before its end, and while one of its batches is
        held."""
        return None if self._fed is None else self._fed.feeder.report()

    def close(self) -> None:
        """End the session with the daemon. Batches that are held stay valid."""
        if self._fed is not None:
            self._fed.feeder.close()

    def __enter__(self) -> DataLoader[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _split_off(self, fed: _Fed) -> _Fed:
        """Begin another session for an iteration, while an older iteration keeps the first."""
        if self._fed is fed:
            self._use_daemon(fed.recipe)
            assert self._fed is not None
            self._fed.targets = fed.targets
            if fed.feeder.next == fed.feeder.at:  # it has begun, but taken no batch
                self._fed.feeder.set_epoch(fed.feeder.at[0] + 1)
        return self._fed or fed


class _Recipe(NamedTuple):
    """All that decides which batches are handed out."""

    spec: dict[str, Any]
    samples: Samples
    normalize: dict[str, Any] | None  # computed on the device; None: nothing is
    targets: Callable[[Any], Any] | None  # the data set's target_transform
    notes: list[str]

    def is_same(self, other: _Recipe) -> bool:
        """Whether a session of the other recipe can continue."""
        return self.spec == other.spec and self.normalize == other.normalize and self.samples.is_same(other.samples)


class _Fed:
    """A session with the daemon, and how its batches are used.

    It ends when neither the loader nor an iteration refers to it.
    """

    def __init__(self, recipe: _Recipe, feeder: Feeder, dtype: torch.dtype) -> None:
        self.recipe = recipe
        self.feeder = feeder
        self.targets = recipe.targets
        self.numbers = None if recipe.normalize is None else _Numbers(recipe.normalize, dtype)
        self.pins = _Pins()
        self.owner: weakref.ref[_Batches] | None = None  # the iteration begun last
        weakref.finalize(self, Feeder.close, feeder)

    def labels(self, labels: np.ndarray, which: Which, targets: Callable[[Any], Any] | None) -> Any:
        """Return labels as default_collate makes them of the data set's."""
        if targets is None and self.recipe.samples.integers:
            return torch.from_numpy(labels)
        rows = self.recipe.samples.rows
        values = [rows[i][1] for i in which.indices]
        if targets is not None:
            values = [targets(value) for value in values]
        return torch.utils.data.default_collate(tuple(values)) if values else torch.from_numpy(labels)


class _Batches(Iterator[Any]):
    """An iteration that hands out the ring's memory."""

    def __init__(self, loader: DataLoader[Any], fed: _Fed) -> None:
        self._loader = loader
        self._fed = fed
        self._targets = fed.targets
        self._iteration = 0
        self._over = False
        if not self._is_taken():  # else the session begins when the first batch is taken
            self._begin()

    def _is_taken(self) -> bool:
        """Whether another iteration of this session is referenced and may continue."""
        owner = self._fed.owner and self._fed.owner()
        return owner is not None and owner.is_going()

    def is_going(self) -> bool:
        """Whether the iteration has begun and may continue."""
        return not self._over and self._fed.feeder.is_going(self._iteration)

    def _begin(self) -> None:
        if self._is_taken():
            self._fed = self._loader._split_off(self._fed)
        self._iteration = self._fed.feeder.begin()
        self._fed.owner = weakref.ref(self)

    def _count_left(self) -> int:
        """Return the number of batches still to come."""
        if self._over:
            return 0
        if not self._iteration:
            self._begin()
        return self._fed.feeder.count_left(self._iteration)

    def has_ended(self) -> bool:
        """Whether the batch handed out last is the last one."""
        return self._count_left() == 0

    def __next__(self) -> Any:
        left = self._count_left()
        if left == 0:
            raise self._end()
        feeder = self._fed.feeder
        self._fed.pins.pin(feeder.open())
        delivery = feeder.take()
        assert delivery is not None
        which = feeder.which(delivery)
        tensors = self._make_tensors(feeder.hold(delivery, last=left == 1), which)
        self._note_handed(delivery, which)
        return tensors

    def _make_tensors(self, fields: tuple[np.ndarray, ...], which: Which) -> list[Any]:
        """Return images and labels, still on the host."""
        images, labels = fields
        return [_to_tensor(images, self._fed.feeder.spec), self._fed.labels(labels, which, self._targets)]

    def _note_handed(self, delivery: Delivery, which: Which) -> None:
        self._loader._which = which
        self._fed.feeder.mark_handed(delivery)

    def _end(self) -> StopIteration:
        if not self._over:
            self._over = True
            self._fed.feeder.mark_over()
        return StopIteration()


class _Uploaded(_Batches):
    """An iteration that hands out tensors on the device, and uploads a batch ahead if one is ready."""

    def __init__(self, loader: DataLoader[Any], fed: _Fed) -> None:
        self._uploader = _make_uploader(loader.device)
        super().__init__(loader, fed)
        self._ahead: _Staged | None = None

    def has_ended(self) -> bool:
        return self._count_left() == 0 and self._ahead is None

    def __next__(self) -> Any:
        if self.has_ended():
            raise self._end()
        staged = self._ahead or self._stage_batch(wait=True)
        assert staged is not None
        self._ahead = None
        tensors = staged.receive()
        self._note_handed(staged.delivery, staged.which)
        if self._count_left():
            self._ahead = self._stage_batch(wait=False)
        return tensors

    def _stage_batch(self, wait: bool) -> _Staged | None:
        """Take a batch and upload it. Its slot is given back when the device has read it."""
        fed, feeder = self._fed, self._fed.feeder
        fed.pins.pin(feeder.open())
        delivery = feeder.take(wait)
        if delivery is None:
            return None
        which = feeder.which(delivery)
        tensors, copied, done = self._uploader.send(self._make_tensors(feeder.borrow(delivery), which), self._finish)
        feeder.give_back(delivery, copied)
        return _Staged(delivery, which, self._uploader, tensors, done)

    def _finish(self, tensors: list[Any]) -> list[Any]:
        """Compute on the device."""
        numbers = self._fed.numbers
        return tensors if numbers is None else [numbers(tensors[0]), *tensors[1:]]


class _Staged:
    """A batch that is being uploaded."""

    def __init__(
        self,
        delivery: Delivery,
        which: Which,
        uploader: Uploader | _Copier,
        tensors: list[Any],
        done: torch.cuda.Event | None,
    ) -> None:
        self.delivery = delivery
        self.which = which
        self._uploader = uploader
        self._tensors = tensors
        self._done = done

    def receive(self) -> list[Any]:
        return self._uploader.receive(self._tensors, self._done)


class _Copier:
    """Copies batches to devices other than CUDA, without streams."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def send(
        self, tensors: list[Any], finish: Callable[[list[torch.Tensor]], list[torch.Tensor]]
    ) -> tuple[list[Any], Any, Any]:
        copies = [
            tensor.to(self._device, copy=True) if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors
        ]
        return finish(copies), _Copied(), None

    def receive(self, tensors: list[Any], done: None) -> list[Any]:
        return tensors


class _Copied:
    def query(self) -> bool:
        return True


def _make_uploader(device: torch.device | None) -> Uploader | _Copier:
    return (
        Uploader(_cuda, device)
        if device is not None and device.type == "cuda"
        else _Copier(device or torch.device("cpu"))
    )


class _Numbers:
    """to_tensor and normalize, on the device of the pixels."""

    def __init__(self, normalize: dict[str, Any], dtype: torch.dtype) -> None:
        self._mean = torch.tensor(normalize.get("mean", [0.0])).reshape(1, -1, 1, 1)
        self._std = torch.tensor(normalize.get("std", [1.0])).reshape(1, -1, 1, 1)
        self._dtype = dtype

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        self._mean, self._std = self._mean.to(pixels.device), self._std.to(pixels.device)
        return pixels.to(torch.float32).div_(255).sub_(self._mean).div_(self._std).to(self._dtype)


class _Pins:
    """Page-locks the ring once, when this process uses CUDA."""

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
    """Unlock before the mapping ends; not in a forked child, and not at exit, when CUDA does it."""
    if pid == os.getpid() and not sys.is_finalizing():
        _cuda.unpin(address)


def _find_place(sampler: Iterable[Any] | None, rank: int | None, world: int | None) -> Place:
    """Return this process's place: as given, or of the sampler, the process group or the
    environment."""
    if rank is None and type(sampler) is torch.utils.data.distributed.DistributedSampler:
        rank, world = sampler.rank, sampler.num_replicas
    if rank is None and torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    return here(rank, world)


def _choose_seed(
    seed: int | None, sampler: Iterable[Any] | None, generator: torch.Generator | None, place: Place
) -> int:
    """Return the seed of order and augmentation: as given, or of the sampler or the generator.

    All ranks must have the same.
    """
    if seed is None and type(sampler) is torch.utils.data.distributed.DistributedSampler:
        seed = sampler.seed
    generator = generator or getattr(sampler, "generator", None)
    if seed is None and generator is not None:
        seed = generator.initial_seed()
    if seed is None:
        seed = 0 if place.world > 1 else torch.initial_seed()
    return seed & (1 << 64) - 1


def _to_tensor(array: np.ndarray, spec: dict[str, Any]) -> torch.Tensor:
    """Return a tensor over the array's memory, which it keeps alive."""
    if spec["output"]["dtype"] == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _parse_dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    known = {"uint8": torch.uint8, "float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
    if dtype not in known:
        raise ValueError(
            f"dtype {dtype!r}: expected {', '.join(map(repr, known))}, or None for what the transform gives"
        )
    return known[dtype]
