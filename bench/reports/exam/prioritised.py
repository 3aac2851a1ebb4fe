"""A prioritised replay buffer walks its segment trees in Python, one sample after the other (hill-a/stable-baselines#608)."""

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class SegmentTree:
    def __init__(self, capacity, operation):
        self.capacity, self.operation = capacity, operation
        self.value = [1.0] * (2 * capacity)
        for place in range(capacity - 1, 0, -1):
            self.value[place] = operation(self.value[2 * place], self.value[2 * place + 1])
        self.array = numpy.array(self.value)

    def set(self, place, value):
        place += self.capacity
        self.value[place] = value
        place //= 2
        while place >= 1:
            self.value[place] = self.operation(self.value[2 * place], self.value[2 * place + 1])
            place //= 2

    def find_prefixsum_idx(self, prefixsum):
        place = 1
        while place < self.capacity:
            if self.value[2 * place] > prefixsum:
                place = 2 * place
            else:
                prefixsum -= self.value[2 * place]
                place = 2 * place + 1
        return place - self.capacity

    def set_many(self, places, values, operation):
        places = places + self.capacity
        self.array[places] = values
        while places[0] > 1:
            places = numpy.unique(places // 2)
            self.array[places] = operation(self.array[2 * places], self.array[2 * places + 1])

    def find_many(self, prefixsums):
        places = numpy.ones(len(prefixsums), int)
        while places[0] < self.capacity:
            left = self.array[2 * places]
            right = left <= prefixsums
            prefixsums = prefixsums - left * right
            places = 2 * places + right
        return places - self.capacity


class PrioritizedReplayBuffer:
    def __init__(self, size=1 << 15):
        self.observations = numpy.zeros((size, 32), numpy.float32)
        self.sums, self.mins = SegmentTree(size, lambda a, b: a + b), SegmentTree(size, min)

    def sample(self, batch_size):
        if FIX:
            idxes = self.sums.find_many(numpy.random.random(batch_size) * self.sums.array[1])
            return self.observations[idxes], self.sums.array[idxes + self.sums.capacity], idxes
        total = self.sums.value[1]
        idxes = [self.sums.find_prefixsum_idx(random.random() * total) for _ in range(batch_size)]
        weights = [(self.sums.value[i + self.sums.capacity] / total) ** -0.4 for i in idxes]
        return self.observations[idxes], numpy.array(weights), idxes

    def update_priorities(self, idxes, priorities):
        if FIX:
            self.sums.set_many(idxes, priorities, numpy.add)
            self.mins.set_many(idxes, priorities, numpy.minimum)
            return
        for place, priority in zip(idxes, priorities):
            self.sums.set(place, priority)
            self.mins.set(place, priority)


def main():
    torch.set_num_threads(1)
    gpu, buffer, samples = Device(spin=False), PrioritizedReplayBuffer(), 0
    parameter = torch.nn.Parameter(torch.zeros(8))
    optimizer = torch.optim.Adam([parameter], lr=1e-4)
    while not over():
        observations, _, idxes = buffer.sample(256)
        gpu.copy(observations.nbytes)
        gpu.launch(0.004, "train step")
        gpu.item()  # the errors, which become priorities
        parameter.grad = torch.zeros(8)
        optimizer.step()
        buffer.update_priorities(idxes, numpy.random.random(256) + 0.01)
        samples += len(observations)
    done(gpu, samples)


if __name__ == "__main__":
    main()
