"""The order of samples and their random numbers: the reference in Python.

These are the functions of Stoker's Go package feed/order, written again for comparison and for
reading. feed/order/{draws,permutation,plan,digest}.go give the reasons, and
feed/transform/random.go those for the last three. The daemon computes all of this for the loader.

`Plan` assigns a position (0..samples-1 of an epoch) to a rank and a step; `permutation` maps a
position to a sample; `Draws` gives a sample's random numbers.
"""

import math
import struct
from typing import NamedTuple

_SHUFFLE, _ROUNDS = 0xFF00, 0xFF01  # operation numbers of this module
_M32, _M64 = 2**32 - 1, 2**64 - 1


def philox(counter, key):
    """Philox-4x32-10: four words from a counter of four words and a key of two."""
    (a, b, c, d), (k0, k1) = counter, key
    for _ in range(10):
        x, y = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (y >> 32) ^ b ^ k0, y & _M32, (x >> 32) ^ d ^ k1, x & _M32
        k0, k1 = (k0 + 0x9E3779B9) & _M32, (k1 + 0xBB67AE85) & _M32
    return a, b, c, d


class Draws:
    """The random numbers of (seed, epoch, sample, operation), 64 bits each."""

    def __init__(self, seed, epoch, sample, operation):
        self._key = seed & _M32, seed >> 32 & _M32
        self._counter = sample & _M32, sample >> 32 & 0xFFFF | (operation & 0xFFFF) << 16, epoch & _M32
        self._next = 0  # number of the next draw

    def uint64(self):
        block, half = divmod(self._next, 2)
        self._next += 1
        words = philox((*self._counter, block), self._key)
        return words[2 * half + 1] << 32 | words[2 * half]

    def float64(self):
        return (self.uint64() >> 11) / 2**53

    def below(self, n):
        while True:
            high, low = divmod(self.uint64() * n, 2**64)
            if low >= 2**64 % n:
                return high


def mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _M64
    return x ^ x >> 31


def permutation(seed, epoch, samples):
    """Return the function from position to sample of a shuffled epoch."""
    if samples <= 2**16:
        draws, table = Draws(seed, epoch, samples, _SHUFFLE), list(range(samples))
        for i in reversed(range(1, samples)):
            j = draws.below(i + 1)
            table[i], table[j] = table[j], table[i]
        return table.__getitem__
    draws = Draws(seed, epoch, samples, _ROUNDS)
    keys = [draws.uint64() for _ in range(12)]
    width = (samples - 1).bit_length()
    halves = width // 2, width - width // 2  # bits

    def at(position):
        half = list(divmod(position, 2 ** halves[1]))
        for number, key in enumerate(keys):
            into = number % 2
            half[into] ^= mix(half[1 - into] ^ key) >> 64 - halves[into]
        x = half[0] * 2 ** halves[1] + half[1]
        return x if x < samples else at(x)

    return at


def substitute(position, k, samples):
    """Return the position whose sample is the k-th to replace a bad one, from 1."""
    return (position + k * (2**40 + 15)) % samples


class Plan(NamedTuple):
    """Assigns positions to ranks; steps are counted from the offset `consumed`."""

    samples: int
    world: int
    batch: int  # per rank
    tail: str  # drop, pad, short, even, trim, even-drop

    def each(self, consumed):
        """Return how many places a rank has from the offset to the end of the epoch."""
        left = max(0, self.samples - consumed)
        all_ranks, up = self.world * self.batch, -(-left // self.world)
        if self.tail == "drop":
            return left // all_ranks * self.batch
        if self.tail == "trim":
            return left // self.world
        if self.tail == "even-drop":
            return up // self.batch * self.batch
        return -(-left // all_ranks) * self.batch if self.tail == "pad" else up

    def steps(self, consumed):
        return -(-self.each(consumed) // self.batch)

    def size(self, consumed, step):
        return min(self.batch, self.each(consumed) - step * self.batch)

    def after(self, consumed, step):
        return min(self.samples, consumed + step * self.world * self.batch + self.world * self.size(consumed, step))

    def take(self, consumed, step, rank):
        """Return the positions of a rank in a step, as pairs (position, padding)."""
        begin = consumed + step * self.world * self.batch
        left = self.samples - begin
        if self.tail == "short" and left < self.world * self.batch:
            sizes = [len(range(r, left, self.world)) for r in range(rank + 1)]
            first = begin + sum(sizes[:-1])
            return [(p, False) for p in range(first, first + sizes[-1])]
        size = self.size(consumed, step)
        first = begin + rank * size
        return [(p % self.samples, p >= self.samples) for p in range(first, first + size)]


def join_digests(one, other):
    """Return the digest of the union of two digests' samples."""
    total = int(one[:16], 16) + int(other[:16], 16) & _M64
    return f"{total:016x}{int(one[16:], 16) ^ int(other[16:], 16):016x}"


def digest(samples):
    """Return the digest of a bag of samples: 32 hexadecimal digits, the sum and xor of hashes."""
    total = parity = 0
    for sample in samples:
        value = mix(sample + 0x9E3779B97F4A7C15 & _M64)
        total, parity = total + value & _M64, parity ^ value
    return f"{total:016x}{parity:016x}"


def resized_crop(draws, width, height, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    """RandomResizedCrop: (left, top, width, height)."""
    low, high = (_float32(math.log(r)) for r in ratio)
    for _ in range(10):
        target = width * height * (scale[0] + (scale[1] - scale[0]) * draws.float64())
        aspect = _float32(math.exp(low + (high - low) * draws.float64()))
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            return crop(draws, width, height, w, h)
    w = min(width, max(1, round(height * max(ratio))))
    h = min(height, max(1, round(width / min(ratio))))
    return (width - w) // 2, (height - h) // 2, w, h


def crop(draws, width, height, w, h):
    """RandomCrop: (left, top, width, height)."""
    top = draws.below(height - h + 1)
    return draws.below(width - w + 1), top, w, h


def flip(draws, p=0.5):
    return draws.float64() < p


def _float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]
