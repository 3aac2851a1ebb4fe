"""stoker.DataLoader: in the manner of torch.utils.data.DataLoader."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.utils.data

from ._cuda import Cuda, Uploader
from ._feed import Delivery, Session
from ._loader import PATIENCE, POLICIES, TAILS, make_options, make_spec
from ._place import Place, here
from ._position import Feeder, Which
from ._tail import Tail
from ._translate import PIL, Translation, translate
from ._verbs import StokerError
from ._warning import warn

MOST = 8192  # samples of a batch

_cuda = Cuda(torch)  # tests put a stand-in here


class DataLoader:
    """Batches of images and labels as torch tensors, prepared by stoker feed.

    Takes the arguments of torch's DataLoader. A torchvision ImageFolder, or a
    Subset of one, whose transform can be translated is read by the daemon; what
    cannot be translated is said in one line and runs in Python, at worst all of it, in
    torch's own DataLoader. docs/feed.md says what every argument means.
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
        fast: bool = False,
        tail: str | None = None,
        on_error: str = "fail",
        max_bad: float | None = None,
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
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if normalize_on_device and device is None:
            raise ValueError("normalize_on_device=True needs device=")
        if tail is not None and drop_last and tail != "drop":
            raise ValueError(f"drop_last=True is tail='drop'; tail={tail!r} was given as well")
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.collate_fn = collate_fn
        self.batch_sampler = batch_sampler
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.device = None if device is None else torch.device(device)
        self._which: Which | None = None  # the samples of the batch that was handed out last
        self._dtype = _dtype(dtype)
        self._feeder: Feeder | None = None
        self._torch: Any = None
        self._uploader: Uploader | None = None
        place = _place(sampler, rank, world)
        order = _Order.of(dataset, shuffle, sampler, generator, seed, drop_last, tail, place)
        self.sampler = sampler if sampler is not None else _Sampler(self, order.shuffle)
        why = _refusal(dataset, sampler, batch_size, batch_sampler, collate_fn, worker_init_fn)
        found = Translation() if why else translate(dataset_folder(dataset)[0].transform)
        if not why and not found.ops:
            why = found.why
        elif not why and found.form == PIL and not found.rest:
            why = "the transform ends in PIL images"
        if why:
            kept = {
                "batch_size": batch_size, "shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler, "num_workers": num_workers,
                "collate_fn": collate_fn, "pin_memory": pin_memory, "drop_last": drop_last, "timeout": timeout, "worker_init_fn": worker_init_fn,
                "multiprocessing_context": multiprocessing_context, "generator": generator, "prefetch_factor": prefetch_factor,
                "persistent_workers": persistent_workers, "in_order": in_order,
            }  # fmt: skip
            self._fall_back(why, kept, order, place, seed)
            return
        options = make_options(num_workers, place.local_world, nice, record, quarantine)
        policy = {"on_error": on_error, "max_bad": max_bad, "depth": depth, "name": name}
        self._feed(found, order, place, options, timeout, normalize_on_device, channels_last, fast, policy)

    # The two ways.

    def _fall_back(self, why: str, kept: dict[str, Any], order: _Order, place: Place, seed: int | None) -> None:
        """Torch's own loader, with the same keywords. Samples are split among ranks in either way."""
        warn(f"{why}: this loader is torch's own DataLoader")
        if place.world > 1 and kept["sampler"] is None and kept["batch_sampler"] is None and not isinstance(self.dataset, torch.utils.data.IterableDataset):
            kept["sampler"] = torch.utils.data.distributed.DistributedSampler(
                self.dataset, place.world, place.rank, bool(order.shuffle), order.seed & (1 << 32) - 1, kept["drop_last"]
            )
            kept["shuffle"] = None
        elif seed is not None and kept["generator"] is None:
            kept["generator"] = torch.Generator().manual_seed(seed)
        if kept["batch_sampler"] is not None or kept["batch_size"] is None:
            kept = {key: value for key, value in kept.items() if key not in ("batch_size", "shuffle", "sampler", "drop_last")} | (
                {"batch_size": None, "sampler": kept["sampler"], "shuffle": kept["shuffle"]} if kept["batch_sampler"] is None else {}
            )
        if not kept["num_workers"]:  # torch refuses these without workers; here they are of no effect
            kept.update(prefetch_factor=None, persistent_workers=False)
        self._torch = torch.utils.data.DataLoader(self.dataset, **kept)
        self.sampler, self.batch_sampler = self._torch.sampler, self._torch.batch_sampler

    def _feed(
        self,
        found: Translation,
        order: _Order,
        place: Place,
        options: dict[str, Any],
        timeout: float,
        normalize_on_device: bool,
        channels_last: bool,
        fast: bool,
        policy: dict[str, Any],
    ) -> None:
        folder, samples = dataset_folder(self.dataset)
        for note in (*found.notes, *order.notes):
            warn(note)
        self._tail = Tail(torch, found.rest, found.form) if found.rest else None
        if self._tail:
            warn(f"{found.why}: from there on the transforms run in Python, sample by sample")
        self._targets = folder.target_transform
        ops = found.ops
        self._numbers: _Numbers | None = None
        if normalize_on_device:
            if self._tail or ops[-1]["op"] == "pil_to_tensor":
                raise ValueError("normalize_on_device=True needs a transform that is translated as a whole and ends in floats")
            self._numbers = _Numbers(ops[-1] if ops[-1]["op"] == "normalize" else {}, self._dtype or torch.float32)
            ops = [op for op in ops if op["op"] not in ("to_tensor", "normalize")] + [{"op": "pil_to_tensor"}]
        dtype = None if self._tail or normalize_on_device or self._dtype is None else str(self._dtype).removeprefix("torch.")
        spec = make_spec(
            root=folder.root,
            ops=ops,
            batch=self.batch_size,  # type: ignore[arg-type] # None is torch's own
            shuffle=order.shuffle,
            seed=order.seed,
            dtype=dtype,
            channels_last=channels_last or bool(self._tail and found.form == PIL),
            fast=fast,
            tail=order.tail,
            samples=samples,
            **policy,
        )
        spec["allow_empty"] = True  # the data set has already said what it thinks of empty classes
        self._feeder = Feeder(spec, place, options, timeout or PATIENCE, warn)
        self._feeder.check = _Same(folder, len(self.dataset))
        self._feeder.fence = _cuda.fence
        self._pins = _Pins()
        self._length = self._feeder.steps(len(self.dataset))
        self._epoch_seen = getattr(self.sampler, "epoch", None)
        self._end = weakref.finalize(self, Feeder.close, self._feeder)

    # What torch's DataLoader has.

    def __len__(self) -> int:
        """Steps of an epoch, on every rank."""
        return len(self._torch) if self._feeder is None else self._length

    def __iter__(self) -> Iterator[Any]:
        """Begin an iteration: of the next epoch, or where set_epoch, skip or load_state_dict say."""
        if self._feeder is None:
            return self._torch_batches()
        epoch = getattr(self.sampler, "epoch", None)
        if epoch is not None and epoch != self._epoch_seen:  # a DistributedSampler, told by the trainer
            self._feeder.set_epoch(epoch)
        self._epoch_seen = epoch
        on_host = self.device is None or (self.device.type == "cpu" and self._numbers is None)
        return _Batches(self, self._feeder) if on_host else _Uploaded(self, self._feeder)

    def _torch_batches(self) -> Iterator[Any]:
        for batch in self._torch:
            yield self._move(batch)

    def _move(self, value: Any) -> Any:
        """What device= and dtype= mean where the loader is torch's own."""
        if isinstance(value, torch.Tensor):
            dtype = self._dtype if self._dtype is not None and value.is_floating_point() else None
            return value.to(device=self.device, dtype=dtype, non_blocking=True) if dtype or self.device else value
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(self._move(item) for item in value)
        return {key: self._move(item) for key, item in value.items()} if type(value) is dict else value

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
        return self._feeder is not None

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is of this epoch."""
        if self._feeder is not None:
            self._feeder.set_epoch(epoch)
        elif hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def skip(self, batches: int) -> None:
        """Leave out batches of the iteration under way, or of the next one."""
        self._need("skip").skip(batches)

    def state_dict(self) -> dict[str, Any]:
        """The position behind the last batch that was handed out; empty where the loader is torch's own."""
        return {} if self._feeder is None else self._feeder.state()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration goes on from a state, whatever rank or world it came from."""
        if self._feeder is not None:
            self._feeder.load(state)
        elif state:
            raise StokerError("this loader is torch's own, which cannot go on from a state: make the transform translatable, as when the state was written")

    @property
    def report(self) -> dict[str, Any] | None:
        """What became of the last whole epoch; None before its end, and while one of its batches is held."""
        return None if self._feeder is None else self._feeder.report()

    def __reduce__(self) -> Any:
        raise TypeError("a stoker loader cannot be copied or sent to another process: make one there")

    def _need(self, what: str) -> Feeder:
        if self._feeder is None:
            raise StokerError(f"{what} is not possible here: this loader is torch's own")
        return self._feeder

    def close(self) -> None:
        """End the session with the daemon. Batches that are held stay valid."""
        if self._feeder is not None:
            self._feeder.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # From a batch in the ring to what is handed out.

    def _tensors(self, delivery: Delivery, fields: tuple[np.ndarray, ...], which: Which) -> list[Any]:
        """Images and labels, still on the host."""
        images, labels = fields
        assert self._feeder is not None
        if self._tail is None:
            pixels = _tensor(images, self._feeder.spec)
        else:
            pixels = self._tail(images, which.indices, self._feeder.spec["seed"], delivery.packet["epoch"])
            if self._dtype is not None and isinstance(pixels, torch.Tensor):
                pixels = pixels.to(self._dtype)
        if self._targets is None:
            return [pixels, torch.from_numpy(labels)]
        targets = [self._targets(int(label)) for label in labels]
        return [pixels, torch.utils.data.default_collate(targets) if targets else torch.from_numpy(labels)]

    def _finish(self, tensors: list[Any]) -> list[Any]:
        """What is computed on the device."""
        return tensors if self._numbers is None else [self._numbers(tensors[0]), *tensors[1:]]

    def _handed(self, delivery: Delivery, which: Which) -> None:
        assert self._feeder is not None
        self._which = which
        self._feeder.handed(delivery)


class _Batches(Iterator[Any]):
    """One iteration that hands out the ring's memory."""

    def __init__(self, loader: DataLoader, feeder: Feeder) -> None:
        self._loader = loader
        self._feeder = feeder
        self._iteration = feeder.begin()
        self._over = False

    def __next__(self) -> Any:
        left = 0 if self._over else self._feeder.left(self._iteration)
        if left == 0:
            raise self._end()
        self._loader._pins.pin(self._feeder.open())
        delivery = self._feeder.take()
        assert delivery is not None
        which = self._feeder.which(delivery)
        tensors = self._loader._tensors(delivery, self._feeder.hold(delivery, last=left == 1), which)
        self._loader._handed(delivery, which)
        return tensors

    def _end(self) -> StopIteration:
        if not self._over:
            self._over = True
            self._feeder.over()
        return StopIteration()


class _Uploaded(_Batches):
    """One iteration that hands out tensors on the device, a batch ahead where one is ready."""

    def __init__(self, loader: DataLoader, feeder: Feeder) -> None:
        self._uploader = _uploader(loader.device)
        super().__init__(loader, feeder)
        self._ahead: _Staged | None = None

    def __next__(self) -> Any:
        left = 0 if self._over else self._feeder.left(self._iteration)
        if left == 0 and self._ahead is None:
            raise self._end()
        staged = self._ahead or self._stage(wait=True)
        assert staged is not None
        self._ahead = None
        tensors = staged.receive()
        self._loader._handed(staged.delivery, staged.which)
        if self._feeder.left(self._iteration):
            self._ahead = self._stage(wait=False)
        return tensors

    def _stage(self, wait: bool) -> _Staged | None:
        """Take a batch and send it to the device; its slot is given back when it has been read."""
        feeder, loader = self._feeder, self._loader
        loader._pins.pin(feeder.open())
        delivery = feeder.take(wait)
        if delivery is None:
            return None
        which = feeder.which(delivery)
        tensors, copied, done = self._uploader.send(loader._tensors(delivery, feeder.borrow(delivery), which), loader._finish)
        feeder.give_back(delivery, copied)
        return _Staged(delivery, which, self._uploader, tensors, done)


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
        copies = [tensor.to(self._device, copy=True) if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors]
        return finish(copies), _Copied(), None

    def receive(self, tensors: list[Any], done: Any) -> list[Any]:
        return tensors


class _Copied:
    def query(self) -> bool:
        return True


def _uploader(device: torch.device | None) -> Any:
    return Uploader(_cuda, device) if device is not None and device.type == "cuda" else _Copier(device or torch.device("cpu"))


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
        if (self._tried is not None and self._tried() is session) or not _cuda.live():
            return
        self._tried = weakref.ref(session)
        memory = session.ring.memory
        why = _cuda.pin(memory.ctypes.data, memory.nbytes)
        if why:
            warn(f"the ring cannot be page-locked ({why}): copies to the GPU take the slower way through pageable memory")
            return
        weakref.finalize(memory, _unpin, memory.ctypes.data, os.getpid()).atexit = False


def _unpin(address: int, pid: int) -> None:
    """In front of the end of the mapping; never in a forked child, nor at exit, where CUDA goes by itself."""
    if pid == os.getpid() and not sys.is_finalizing():
        _cuda.unpin(address)


class _Same:
    """Refuses a folder that is not what the data set was made of."""

    def __init__(self, folder: Any, samples: int) -> None:
        self._folder = folder
        self._samples = samples

    def __call__(self, opened: dict[str, Any]) -> None:
        root = self._folder.root
        if opened["samples"] != self._samples:
            raise StokerError(f"{root} has {opened['samples']} samples now, the data set has {self._samples}: make the data set again")
        if "classes" in opened and list(opened["classes"]) != list(self._folder.classes):
            raise StokerError(f"{root} has other classes now than the data set: make the data set again")


class _Sampler:
    """What trainers ask loader.sampler for."""

    def __init__(self, loader: DataLoader, shuffle: bool) -> None:
        self._loader = weakref.ref(loader)
        self.shuffle = shuffle

    def set_epoch(self, epoch: int) -> None:
        loader = self._loader()
        if loader is not None:
            loader.set_epoch(epoch)

    def __len__(self) -> int:
        loader = self._loader()
        return 0 if loader is None else len(loader) * (loader.batch_size or 1)


class _Order:
    """What decides which sample comes when."""

    def __init__(self, shuffle: bool, seed: int, tail: str, notes: list[str]) -> None:
        self.shuffle = shuffle
        self.seed = seed
        self.tail = tail
        self.notes = notes

    @classmethod
    def of(cls, dataset: Any, shuffle: bool | None, sampler: Any, generator: Any, seed: int | None, drop_last: bool, tail: str | None, place: Place) -> _Order:
        notes = []
        spread = type(sampler) is torch.utils.data.distributed.DistributedSampler
        if spread:
            shuffle, drop_last = sampler.shuffle, drop_last or sampler.drop_last
            seed = sampler.seed if seed is None else seed
        elif type(sampler) is torch.utils.data.RandomSampler:
            shuffle, generator = True, generator or sampler.generator
        elif place.world > 1:
            notes.append(f"samples are split among the {place.world} ranks, as by a DistributedSampler; rank=0, world=1 gives each rank all of them")
        if seed is None:
            seed = generator.initial_seed() if generator is not None else 0 if place.world > 1 else torch.initial_seed()
        return cls(bool(shuffle), seed, tail or ("drop" if drop_last else "pad" if place.world > 1 else "short"), notes)


def _place(sampler: Any, rank: int | None, world: int | None) -> Place:
    """Ranks: as said, or the sampler's, or the process group's, or the environment's."""
    if rank is None and type(sampler) is torch.utils.data.distributed.DistributedSampler:
        rank, world = sampler.rank, sampler.num_replicas
    if rank is None and torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    return here(rank, world)


def _refusal(dataset: Any, sampler: Any, batch_size: int | None, batch_sampler: Any, collate_fn: Any, worker_init_fn: Any) -> str:
    """Why nothing can be translated, but for the transform; empty: it may be."""
    data = torch.utils.data
    if batch_sampler is not None:
        return "batch_sampler= decides which samples make a batch"
    if batch_size is None:
        return "batch_size=None asks for single samples"
    if isinstance(batch_size, int) and batch_size > MOST:
        return f"batch_size {batch_size} is more than the {MOST} samples that the daemon hands over at a time"
    if collate_fn is not None and collate_fn is not data.default_collate:
        return f"collate_fn {getattr(collate_fn, '__name__', type(collate_fn).__name__)} makes the batches"
    if worker_init_fn is not None:
        return "worker_init_fn= needs torch's workers"
    if sampler is not None:
        kind = type(sampler)
        if kind not in (data.RandomSampler, data.SequentialSampler, data.distributed.DistributedSampler):
            return f"sampler {kind.__name__} decides the order"
        if kind is data.RandomSampler and (sampler.replacement or sampler.num_samples != len(dataset)):
            return "RandomSampler draws with replacement or another number of samples"
        of = getattr(sampler, "data_source", getattr(sampler, "dataset", None))
        if of is not dataset and len(of) != len(dataset):
            return "the sampler is of another data set"
    return _unknown(dataset)


def _unknown(dataset: Any) -> str:
    """Why a data set is not one that the daemon can read."""
    folder, samples = dataset_folder(dataset)
    try:
        from torchvision import get_image_backend
        from torchvision.datasets.folder import IMG_EXTENSIONS, ImageFolder, default_loader, pil_loader
    except ImportError:
        ImageFolder = None
    if type(folder) is not ImageFolder:
        return f"{type(folder).__name__} is not a torchvision ImageFolder"
    if folder.loader is not pil_loader and (folder.loader is not default_loader or get_image_backend() != "PIL"):
        return "the ImageFolder has a loader of its own"
    if folder.extensions != IMG_EXTENSIONS:
        return "the ImageFolder has is_valid_file or extensions of its own"
    if folder.imgs is not folder.samples or len(folder.samples) != len(folder.targets) or list(folder.class_to_idx) != list(folder.classes):
        return "the ImageFolder's list of samples was changed"
    if samples is not None and not samples:
        return "the Subset is empty"
    if samples is not None and not all(0 <= i < len(folder.samples) for i in samples):
        return "the Subset has indices that are not in its data set"
    return ""


def dataset_folder(dataset: Any) -> tuple[Any, list[int] | None]:
    """What a data set reads, and which samples of it where it is a Subset, of a Subset perhaps."""
    samples: list[int] | None = None
    while type(dataset) is torch.utils.data.Subset:
        indices = [int(i) for i in dataset.indices]
        samples = indices if samples is None else [indices[i] for i in samples]
        dataset = dataset.dataset
    return dataset, samples


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
        raise ValueError(f"dtype {dtype!r}: expected {', '.join(map(repr, known))}, or None for what the transform gives")
    return known[dtype]
