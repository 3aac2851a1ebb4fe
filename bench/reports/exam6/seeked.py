"""A language model that sees: eight pictures of each clip, chosen evenly over its length."""

# https://github.com/KempnerInstitute/KempnerForge/pull/172
# Cause: all pictures of a clip are decoded one after the other to take eight of them.
# Fix: seek to the keyframe before each wanted time and decode only from there: 282 pictures to 18, 128 ms to 53 ms.
# Line: 53 to 61, decode_video_frames.

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FRAMES, TARGETS = 282, 8


def make_clips(folder, count=12):
    draw = numpy.random.default_rng(0)
    for i in range(count):
        picture = cv2.GaussianBlur(draw.integers(0, 255, (360, 480, 3), dtype=numpy.uint8), (0, 0), 4)
        file = cv2.VideoWriter(os.path.join(folder, f"clip{i}.mp4"), cv2.VideoWriter_fourcc(*"mp4v"), 25, (480, 360))
        for t in range(FRAMES):
            file.write(numpy.roll(picture, t, 1))
        file.release()


class Clips(Dataset):
    def __init__(self, folder, count=12, epoch=600):
        self.folder, self.count, self.epoch = folder, count, epoch

    def __len__(self):
        return self.epoch

    def __getitem__(self, i):
        frames = decode_video_frames(os.path.join(self.folder, f"clip{i % self.count}.mp4"), TARGETS)
        small = [cv2.resize(frame, (224, 224), interpolation=cv2.INTER_AREA) for frame in frames]
        return torch.from_numpy(numpy.stack(small)).permute(0, 3, 1, 2)


def decode_video_frames(path, count):
    video = cv2.VideoCapture(path)
    targets = numpy.linspace(0, FRAMES - 1, count).astype(int)
    if FIX:
        frames = []
        for t in targets:
            video.set(cv2.CAP_PROP_POS_FRAMES, int(t))
            frames.append(video.read()[1])
        return frames
    frames, wanted, t = [], set(targets.tolist()), 0
    while True:
        going, frame = video.read()
        if not going:
            break
        if t in wanted:
            frames.append(frame)
        t += 1
    return frames


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        make_clips(folder)
        loader = DataLoader(Clips(folder), 2, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for clips in loader:
                gpu.copy(clips.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.03, "vision encoder, language model")
                gpu.launch(0.05, "backward, adamw")
                step, samples = step + 1, samples + len(clips)
                if step % 20 == 0:
                    print(f"step {step}: loss {gpu.item():.3f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
