"""Videos are decoded and sent to the device in the training process: no workers (nvidia-cosmos/cosmos-predict1#31)."""

import io
import pickle

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


def make_video(frames=6):
    noise, files = numpy.random.default_rng(0), []
    for _ in range(frames):
        pixels = noise.integers(0, 255, (45, 80, 3), numpy.uint8)
        file = io.BytesIO()
        Image.fromarray(pixels).resize((320, 180)).save(file, "JPEG", quality=90)
        files.append(file.getvalue())
    return files


class VideoDataset(Dataset):
    def __init__(self, gpu):
        self.gpu = gpu
        self.videos = [make_video() for _ in range(8)]
        self.embeddings = pickle.dumps(numpy.zeros((512, 1024), numpy.float32))

    def __len__(self):
        return 100_000

    def load_frames(self, index):
        frames = [Image.open(io.BytesIO(data)).convert("RGB").resize((240, 136)) for data in self.videos[index % 8]]
        return torch.from_numpy(numpy.stack([numpy.asarray(frame) for frame in frames]))

    def __getitem__(self, index):
        data = {"video": self.load_frames(index), "t5_text_embeddings": torch.from_numpy(pickle.loads(self.embeddings))}
        if not FIX:
            for part in data.values():
                self.gpu.copy(part.nbytes)
        return data


class Trainer:
    def __init__(self):
        self.gpu = Device(spin=False)

    def training_step(self, batch):
        if FIX:
            for part in batch.values():
                self.gpu.copy(part.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.07, "denoise, backward")
        self.gpu.item()
        return len(batch["video"])


def main():
    torch.set_num_threads(1)
    trainer, samples = Trainer(), 0
    data = VideoDataset(trainer.gpu)
    options = {"num_workers": 2, "pin_memory": True} if FIX else {}
    for batch in DataLoader(data, batch_size=4, shuffle=True, drop_last=True, **options):
        samples += trainer.training_step(batch)
        if over():
            break
    done(trainer.gpu, samples)


if __name__ == "__main__":
    main()
