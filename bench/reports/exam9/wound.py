"""A policy for a robot is pretrained on pairs of a frame and the action after it; episodes are stored as films."""

# https://github.com/dexmal/dexbotic/issues/30
# Cause: for each sample the whole film is read and unpacked, and one frame of it is kept.
# Fix: take the films apart into frames once, before training, and read only the one that is needed.
# Line: 46 to 54, 59, 70 to 73: _load_video, called in DexDataset.__getitem__.

import json
import tempfile
from pathlib import Path

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FRAMES, HEIGHT, WIDTH, BATCH = 64, 180, 240, 8


def write_episodes(folder, count=8):
    """Films, a line of JSON for each frame, and if mended all frames as files."""
    draw = numpy.random.default_rng(0)
    table = cv2.GaussianBlur(draw.integers(0, 255, (HEIGHT, 2 * WIDTH, 3), dtype=numpy.uint8), (0, 0), 5)
    for episode in range(count):
        film = cv2.VideoWriter(f"{folder}/{episode}.avi", cv2.VideoWriter_fourcc(*"MJPG"), 15, (WIDTH, HEIGHT))
        lines = []
        for t in range(FRAMES):
            frame = table[:, 3 * t + episode : 3 * t + episode + WIDTH].copy()
            cv2.circle(frame, (20 + 3 * t, 90), 12, (0, 0, 255), -1)
            film.write(frame)
            if FIX:
                cv2.imwrite(f"{folder}/{episode}-{t}.jpg", frame)
            lines.append(json.dumps({"frame_idx": t, "url": f"{episode}.avi", "state": draw.normal(size=7).round(4).tolist()}))
        film.release()
        Path(folder, f"{episode}.jsonl").write_text("\n".join(lines))


class LoadMultiModal:
    """Turns the address of a film and a frame's number into the picture."""

    def __init__(self, folder):
        self.folder = folder

    def _load_video(self, url):
        capture, frames = cv2.VideoCapture(f"{self.folder}/{url}"), []
        while True:
            there, frame = capture.read()
            if not there:
                break
            frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        capture.release()
        return numpy.stack(frames)

    def __call__(self, line):
        if FIX:
            return cv2.imread(f"{self.folder}/{line['url'][:-4]}-{line['frame_idx']}.jpg")[..., ::-1]
        return self._load_video(line["url"])[line["frame_idx"]]


class DexDataset(Dataset):
    def __init__(self, folder):
        self.episodes = [[json.loads(line) for line in path.open()] for path in sorted(Path(folder).glob("*.jsonl"))]
        self.load = LoadMultiModal(folder)

    def __len__(self):
        return 20 * len(self.episodes) * FRAMES

    def __getitem__(self, i):
        episode = self.episodes[i // FRAMES % len(self.episodes)]
        line, after = episode[i % FRAMES], episode[min(i % FRAMES + 1, FRAMES - 1)]
        picture = cv2.resize(self.load(line), (224, 224), interpolation=cv2.INTER_LINEAR)
        return torch.from_numpy(picture), torch.tensor(after["state"])


class OFTModel:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, pictures, actions):
        self.gpu.copy(pictures.nbytes + actions.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.012, "vision tower, language model")
        self.gpu.launch(0.024, "action head, backward, adamw")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        write_episodes(folder)
        model = OFTModel(gpu)
        loader = DataLoader(DexDataset(folder), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for pictures, actions in loader:
                model.step(pictures, actions)
                step, samples = step + 1, samples + len(actions)
                if step % 20 == 0:
                    print({"loss": round(gpu.item(), 4), "epoch": round(samples / 1e5, 4)}, flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
