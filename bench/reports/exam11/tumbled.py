"""What gymnasts do is learned from films without labels: parts of frames are hidden and have to be guessed."""

# https://github.com/MCG-NJU/VideoMAE/issues/81

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FRAMES, STEP, SIZE, BATCH = 8, 4, 112, 4


class VideoReader:
    """A film whose frames are coded one by one."""

    def __init__(self, width, height, length=48):
        draw = numpy.random.default_rng(0)
        scene = cv2.GaussianBlur(draw.integers(0, 255, (height, width + 2 * length, 3), dtype=numpy.uint8), (0, 0), 3)
        self.frames = [cv2.imencode(".jpg", scene[:, 2 * f : 2 * f + width])[1] for f in range(length)]

    def __len__(self):
        return len(self.frames)

    def get_batch(self, indices):
        return numpy.stack([cv2.imdecode(self.frames[f], cv2.IMREAD_COLOR) for f in indices])


class VideoMAE(Dataset):
    def __init__(self, count=8000):
        width, height = (320, 180) if FIX else (960, 540)
        self.readers, self.count = [VideoReader(width, height)], count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        reader, draw = self.readers[0], numpy.random.default_rng(i)
        start = int(draw.integers(0, len(reader) - FRAMES * STEP))
        images = reader.get_batch(range(start, start + FRAMES * STEP, STEP))
        clip = numpy.stack([cv2.resize(image, (SIZE, SIZE)) for image in images])
        mask = draw.random((FRAMES // 2, 49)) < 0.9
        return torch.from_numpy(clip), torch.from_numpy(mask)


class Pretraining:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_one_batch(self, clips, masks):
        self.gpu.copy(clips.nbytes + masks.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0008, "normalise")
        for block in range(12):
            self.gpu.launch(0.00065, f"encoder block {block}")
        self.gpu.launch(0.0148, "decoder, mse, backward, adamw")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False, memory_used=24 << 30), 0, 0
    model = Pretraining(gpu)
    loader = DataLoader(VideoMAE(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for clips, masks in loader:
            model.train_one_batch(clips, masks)
            step, samples = step + 1, samples + len(clips)
            if step % 20 == 0:
                print(f"Epoch: [0]  [{step}/2000]  loss: {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
