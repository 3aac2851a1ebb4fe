"""Learning from recorded play: pictures of a cube and an arm, three frames at a time."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

FRAMES, SIDE = 3, 64


class Dataset:
    """Transitions of many episodes, one after the other."""

    def __init__(self, size=4000, episode=200, frame_stack=FRAMES, p_aug=0.5, seed=0):
        self.draw, self.size, self.frame_stack, self.p_aug = numpy.random.default_rng(seed), size, frame_stack, p_aug
        self.observations = self.draw.integers(0, 255, (size, SIDE, SIDE, 3), dtype=numpy.uint8)
        self.actions = self.draw.random((size, 5), dtype=numpy.float32)
        self.terminal_locs = numpy.arange(episode - 1, size, episode)
        self.initial_locs = numpy.concatenate([[0], self.terminal_locs[:-1] + 1])
        self.stacked = None

    def frames_of(self, idxs):
        initial = self.initial_locs[numpy.searchsorted(self.initial_locs, idxs, side="right") - 1]
        parts = [self.observations[numpy.maximum(idxs - i, initial)] for i in reversed(range(self.frame_stack))]
        return numpy.concatenate(parts, axis=-1)

    def get_observations(self, idxs):
        if FIX:
            if self.stacked is None:
                self.stacked = self.frames_of(numpy.arange(self.size))
            return self.stacked[idxs]
        return self.frames_of(idxs)

    def augment(self, pictures, padding=3):
        rows, columns = self.draw.integers(0, 2 * padding + 1, 2)
        padded = numpy.pad(pictures, ((0, 0), (padding, padding), (padding, padding), (0, 0)), mode="edge")
        return padded[:, rows : rows + SIDE, columns : columns + SIDE]

    def sample(self, batch_size):
        idxs = self.draw.integers(0, self.size - 1, batch_size)
        batch = {"observations": self.get_observations(idxs), "next_observations": self.get_observations(idxs + 1)}
        batch["actions"] = self.actions[idxs]
        if self.draw.random() < self.p_aug:
            batch["observations"] = self.augment(batch["observations"])
        return {key: torch.from_numpy(numpy.ascontiguousarray(value)) for key, value in batch.items()}


class FQLAgent:
    """Flow matching, a one-step policy and two critics."""

    def __init__(self, gpu):
        self.gpu = gpu

    def update(self, batch):
        self.gpu.copy(sum(value.nbytes for value in batch.values()))
        self.gpu.launch(0.006, "impala encoders")
        self.gpu.launch(0.005, "critics")
        self.gpu.launch(0.007, "flow, one-step policy")
        self.gpu.launch(0.0004, "target")


def main():
    torch.set_num_threads(1)
    gpu, step, samples = Device(spin=False), 0, 0
    train_dataset, agent = Dataset(), FQLAgent(gpu)
    while not over():
        batch = train_dataset.sample(256)
        agent.update(batch)
        step, samples = step + 1, samples + len(batch["actions"])
        if step % 50 == 0:
            print(f"step {step}: loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
