"""What could not be translated: transforms in Python behind the daemon, sample by sample."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._translate import IMAGE, PIL


class Tail:
    """The rest of a Compose. Its randomness is, like the daemon's, a function of (seed, epoch, sample)."""

    def __init__(self, torch: Any, transforms: Sequence[Any], form: str) -> None:
        self._torch = torch
        self._transforms = transforms
        self._form = form

    def __call__(self, images: np.ndarray, indices: np.ndarray, seed: int, epoch: int) -> Any:
        """The batch's tensor. images have channels first, whatever their strides."""
        torch = self._torch
        states = torch.default_generator.get_state(), random.getstate(), np.random.get_state()
        try:
            samples = [self._one(image, struct.pack("<QQQ", seed, epoch, index)) for image, index in zip(images, indices, strict=True)]
        finally:
            torch.default_generator.set_state(states[0])
            random.setstate(states[1])
            np.random.set_state(states[2])
        return torch.utils.data.default_collate(samples) if samples else torch.from_numpy(images)

    def _one(self, image: np.ndarray, sample: bytes) -> Any:
        number = int.from_bytes(hashlib.blake2b(sample, digest_size=8).digest(), "little")
        self._torch.default_generator.manual_seed(number)
        random.seed(number)
        np.random.seed(number & 0xFFFFFFFF)
        value = self._given(image)
        for transform in self._transforms:
            value = transform(value)
        return value

    def _given(self, image: np.ndarray) -> Any:
        """The sample as the first transform expects it."""
        if self._form == PIL:
            from PIL import Image

            return Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
        tensor = self._torch.from_numpy(np.array(image))  # its own: a transform may keep it or work in place
        if self._form == IMAGE:
            from torchvision import tv_tensors

            return tv_tensors.Image(tensor)
        return tensor
