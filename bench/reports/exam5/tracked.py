"""A tracker of objects in videos, trained on pairs of frames drawn from several collections."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Collection:
    """Videos with a box for each frame."""

    def __init__(self, name, videos, frames=120, seed=0):
        draw = random.Random(seed)
        self.name = name
        self.sequences = [
            {"path": f"{name}/{n:05d}", "boxes": [(draw.random(), draw.random(), 0.2, 0.2) for _ in range(frames)]}
            for n in range(videos)
        ]

    def frame(self, video, i):
        return torch.full((3, 96, 96), i % 255, dtype=torch.uint8), self.sequences[video]["boxes"][i]


class TrackingSampler(Dataset):
    """So many samples make an epoch, whatever the size of the collections."""

    def __init__(self, collections, samples_per_epoch):
        self.collections, self.samples_per_epoch = collections, samples_per_epoch

    def __len__(self):
        return self.samples_per_epoch

    def __getitem__(self, _):
        collection = random.choice(self.collections)
        video = random.randrange(len(collection.sequences))
        first = random.randrange(60)
        (template, box), (search, target) = collection.frame(video, first), collection.frame(video, first + 40)
        return {"template": template, "search": search, "box": torch.tensor(box), "target": torch.tensor(target)}


class LTRLoader(DataLoader):
    def __init__(self, name, dataset, batch_size):
        self.name = name
        super().__init__(
            dataset,
            batch_size,
            num_workers=2,
            pin_memory=True,
            drop_last=True,
            multiprocessing_context="forkserver",
            persistent_workers=FIX,
        )


class LTRTrainer:
    def __init__(self, gpu, loader):
        self.gpu, self.loader, self.epoch, self.samples = gpu, loader, 0, 0

    def cycle_dataset(self):
        for i, data in enumerate(self.loader, 1):
            self.gpu.copy(sum(value.nbytes for value in data.values()), pinned=True, non_blocking=True)
            self.gpu.launch(0.018, "backbone, transformer, head")
            self.gpu.launch(0.034, "loss, backward, adamw")
            self.samples += len(data["box"])
            if i % 25 == 0:
                print(f"[{self.loader.name}: {self.epoch}, {i} / {len(self.loader)}] loss {self.gpu.item():.4f}", flush=True)
            if over():
                return

    def train(self):
        while not over():
            self.epoch += 1
            self.cycle_dataset()


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    names = {"lasot": 500, "got10k": 700, "trackingnet": 900, "coco": 400}
    collections = [Collection(name, videos, seed=n) for n, (name, videos) in enumerate(names.items())]
    trainer = LTRTrainer(gpu, LTRLoader("train", TrackingSampler(collections, 1600), 20))
    over()
    trainer.train()
    done(gpu, trainer.samples)


if __name__ == "__main__":
    main()
