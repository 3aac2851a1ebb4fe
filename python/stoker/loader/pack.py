"""stoker.Pack: a data set that `stoker pack` wrote, with the samples of ImageFolder of the packed
folder."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from .._verbs import StokerError

_FORMAT = 1


class Place(NamedTuple):
    """The position of a file in a pack."""

    shard: str
    at: int
    size: int
    sum: str  # SHA-256 of its bytes


def is_pack(root: str) -> bool:
    """Whether a folder is a pack."""
    return all(os.path.isfile(os.path.join(root, name)) for name in ("index.json", "shard-000000.tar"))


class Shards:
    """The files of a pack, by their paths relative to the packed folder."""

    def __init__(self, root: str) -> None:
        self.root = root  # without a final slash
        self.places: dict[str, tuple[Place, int]] = {}  # by path, each with its label
        index = self._json("index.json")
        if index.get("format") != _FORMAT:
            raise StokerError(f"{root}: the pack has format {index.get('format')}, this program reads {_FORMAT}")
        self.classes: list[str] = index["classes"]
        for shard in index["shards"]:
            listed = self._json(os.path.splitext(os.path.basename(shard["file"]))[0] + ".json")
            if listed["plan"] != index["plan"]:
                raise StokerError(f"{root}: the list of {shard['file']} does not match the index of the pack")
            for one in listed["samples"]:
                place = Place(shard["file"], one["at"], one["bytes"], one["sha256"])
                self.places[one["path"]] = place, one["label"]
        if len(self.places) != index["samples"]:
            raise StokerError(f"{root}: the lists of the pack have {len(self.places)} samples, its index has {index['samples']}")

    def _json(self, name: str) -> Any:
        try:
            with open(os.path.join(self.root, name), encoding="utf-8") as file:
                return json.load(file)
        except ValueError as error:
            raise StokerError(f"{os.path.join(self.root, name)} cannot be read: {error}: run stoker pack again") from None

    def read(self, path: str) -> bytes:
        """Return the bytes of a file by its path, after checking their digest."""
        path = path[len(self.root) + 1 :]
        place = self.places[path][0]
        shard = os.path.join(self.root, place.shard)
        with open(shard, "rb") as file:
            data = os.pread(file.fileno(), place.size, place.at)
        if len(data) != place.size or hashlib.sha256(data).hexdigest() != place.sum:
            raise OSError(f"{shard}: the bytes of {path} are not those that were packed: the shard is damaged")
        return data


class Pack:
    """Samples in the order of ImageFolder of the folder that was packed, with its classes and
    labels.

    Any loader can read this map-style data set; with stoker.DataLoader, the daemon reads it.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = os.fspath(root).rstrip("/") or "/"
        self.transform, self.target_transform = transform, target_transform
        if not is_pack(self.root):
            raise StokerError(f"{self.root} is not a complete pack: make one with stoker pack")
        self.shards = Shards(self.root)
        self.classes = self.shards.classes
        self.class_to_idx = {name: label for label, name in enumerate(self.classes)}
        rows = [(label, *os.path.split(path)) for path, (_, label) in self.shards.places.items()]
        self.samples = [(os.path.join(self.root, folder, name), label) for label, folder, name in sorted(rows)]
        self.targets = [label for _, label in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        from PIL import Image

        path, label = self.samples[index]
        image: Any = Image.open(io.BytesIO(self.shards.read(path))).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)
