"""Heads that talk: an embedder sees a few frames of a person, a generator paints another from a drawing of the face."""

# https://github.com/vincent-thevenin/Realistic-Neural-Talking-Head-Models/issues/7
# Cause: the landmarks of each face are searched in each frame whenever the frame is used, in training.
# Fix: search them once before training, and load drawings: at least 3 to 4 times as fast.
# Line: 67, generate_landmarks in VidDataSet.__getitem__ (the work is at 41 to 47).

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

K, SIDE, POINTS = 6, 224, 68


class FaceAlignment:
    """Finds each point where its patch of the mean face fits best, in three sizes."""

    def __init__(self, face, mean_shape):
        self.patches = [
            cv2.getRectSubPix(cv2.resize(face, None, fx=scale, fy=scale), (15, 15), tuple(float(scale * c) for c in point))
            for scale in (0.5, 0.75, 1.0)
            for point in mean_shape
        ]
        self.shape = mean_shape

    def get_landmarks(self, frame):
        grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
        votes = numpy.zeros((POINTS, 2))
        for level, scale in enumerate((0.5, 0.75, 1.0)):
            small = cv2.resize(grey, None, fx=scale, fy=scale)
            for number, (x, y) in enumerate((self.shape * scale).astype(int)):
                window = small[max(0, y - 20) : y + 20, max(0, x - 20) : x + 20]
                fits = cv2.matchTemplate(window, self.patches[level * POINTS + number], cv2.TM_CCOEFF_NORMED)
                votes[number] += numpy.unravel_index(fits.argmax(), fits.shape)[::-1] / numpy.array(scale)
        return self.shape + votes / 3 - 12


def generate_landmarks(frames, aligner):
    drawings = []
    for frame in frames:
        drawing = numpy.full((SIDE, SIDE, 3), 255, numpy.uint8)
        cv2.polylines(drawing, [aligner.get_landmarks(frame).astype(numpy.int32)], False, (0, 128, 0), 2)
        drawings.append((frame, drawing))
    return drawings


class VidDataSet(Dataset):
    def __init__(self, videos=16):
        draw = numpy.random.default_rng(0)
        face = cv2.GaussianBlur(draw.integers(0, 255, (SIDE, SIDE, 3), dtype=numpy.uint8), (0, 0), 3)
        self.videos = [[numpy.roll(face, (v, t), (0, 1)) for t in range(12)] for v in range(videos)]
        self.aligner = FaceAlignment(cv2.cvtColor(face, cv2.COLOR_RGB2GRAY), draw.uniform(40, 184, (POINTS, 2)))
        if FIX:
            self.drawn = [generate_landmarks(frames, self.aligner) for frames in self.videos]

    def __len__(self):
        return 100 * len(self.videos)

    def __getitem__(self, i):
        video, chosen = i % len(self.videos), numpy.random.choice(12, K, replace=False)
        if FIX:
            pairs = [self.drawn[video][t] for t in chosen]
        else:
            pairs = generate_landmarks([self.videos[video][t] for t in chosen], self.aligner)
        return torch.from_numpy(numpy.array(pairs)).permute(0, 1, 4, 2, 3).contiguous(), video


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    loader = DataLoader(VidDataSet(), 2, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for frames, videos in loader:
            gpu.copy(frames.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.006, "embedder")
            gpu.launch(0.009, "generator, vgg losses")
            gpu.launch(0.017, "backward, adam")
            gpu.launch(0.004, "discriminator, backward, adam")
            step, samples = step + 1, samples + len(videos)
            if step % 10 == 0:
                print(f"[0/1000][{step}/800]\tLoss_D: 0.0000\tLoss_G: {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
