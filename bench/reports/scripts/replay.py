"""Sequences of a replay buffer are cut out one by one in Python, in the training loop (astooke/rlpyt#180)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class ReplayBuffer:
    def __init__(self):
        self.frames = numpy.zeros((20_000, 36, 36), numpy.uint8)

    def extract_batch(self, starts, length):
        if FIX:
            return torch.from_numpy(self.frames[starts[:, None] + numpy.arange(length)])
        rows = []
        for start in starts:
            row = [self.frames[start + t] for t in range(length)]
            rows.append(torch.stack([torch.as_tensor(frame) for frame in row]))
        return torch.stack(rows)


def main():
    gpu, buffer, samples = Device(), ReplayBuffer(), 0
    parameter = torch.nn.Parameter(torch.zeros(8))
    optimizer = torch.optim.Adam([parameter])
    while not over():
        starts = numpy.random.randint(0, 19_000, 64)
        batch = buffer.extract_batch(starts, 40)
        gpu.copy(batch.nbytes)
        gpu.launch(0.012, "forward, backward")
        parameter.grad = torch.zeros(8)
        optimizer.step()
        samples += len(starts)
    done(gpu, samples)


if __name__ == "__main__":
    main()
