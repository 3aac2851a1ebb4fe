"""Points are followed through films: where each is in every frame, learned from rendered scenes."""

# https://github.com/aharley/pips/issues/17

import time

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FRAMES, HEIGHT, WIDTH, CROP, TRACKS, BATCH = 8, 240, 320, 128, 64, 4
MIN_VISIBLE, TRIES, READ = 17, 2, 0.0012


class FlyingThings(Dataset):
    def __init__(self, count=4000):
        draw = numpy.random.default_rng(0)
        scene = cv2.GaussianBlur(draw.integers(0, 255, (HEIGHT, WIDTH + 40, 3), dtype=numpy.uint8), (0, 0), 4)
        self.frames = [numpy.ascontiguousarray(scene[:, 5 * f : 5 * f + WIDTH]) for f in range(FRAMES)]
        self.tracks = [self.trajectories(draw, scene=number) for number in range(80)]
        self.count = count

    def trajectories(self, draw, scene):
        """Where the points of a scene are."""
        xs = draw.uniform(0, WIDTH, TRACKS)
        if scene % 40 == 13:
            xs[:17], xs[17:] = numpy.linspace(3, CROP - 8, 17), -100
        return numpy.stack([xs, draw.uniform(0, HEIGHT, TRACKS)], 1).astype(numpy.float32)

    def __len__(self):
        return self.count

    def load(self, draw):
        """Frames come from a disk that is far away; each is blurred a little."""
        frames = []
        for frame in self.frames:
            time.sleep(READ)
            frames.append(cv2.GaussianBlur(frame, (3, 3), 0.5 + draw.random()))
        return frames

    def getitem_helper(self, index, draw):
        tracks, frames = self.tracks[index % len(self.tracks)], self.load(draw)
        x, y = int(draw.integers(0, WIDTH - CROP)), int(draw.integers(0, HEIGHT - CROP))
        visible = (tracks[:, 0] >= x) & (tracks[:, 0] < x + CROP)
        if visible.sum() < MIN_VISIBLE:
            return None
        chosen = tracks[numpy.flatnonzero(visible)[:MIN_VISIBLE]] - [x, y]
        rgbs = numpy.stack([frame[y : y + CROP, x : x + CROP] for frame in frames])
        return torch.from_numpy(rgbs), torch.from_numpy(chosen)

    def __getitem__(self, index):
        draw, tries = numpy.random.default_rng(index), 0
        sample = self.getitem_helper(index, draw)
        while sample is None:
            tries += 1
            if FIX and tries % TRIES == 0:
                index += 1
            sample = self.getitem_helper(index, draw)
        return sample


class Pips:
    def __init__(self, gpu):
        self.gpu = gpu

    def run_model(self, rgbs, trajs):
        self.gpu.copy(rgbs.nbytes + trajs.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.009, "encoder")
        for iteration in range(4):
            self.gpu.launch(0.004, f"correlate, mixer {iteration}")
        self.gpu.launch(0.035, "backward, adamw")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False, memory_used=19 << 30), 0, 0
    model = Pips(gpu)
    loader = DataLoader(FlyingThings(), BATCH, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)
    while not over():
        for rgbs, trajs in loader:
            loss = model.run_model(rgbs, trajs)
            step, samples = step + 1, samples + len(rgbs)
            if step % 10 == 0:
                print(f"16hv_8_128_I4_3e-4_A; step {step:06d}/200000; loss = {loss:.5f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
