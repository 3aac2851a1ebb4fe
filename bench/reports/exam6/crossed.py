"""A detector whose pictures come with boxes, kinds, areas and more, each in a separate tensor."""

# https://github.com/roboflow/rf-detr/pull/1399
# Cause: each worker's batch has 114 small tensors: each crosses to the main process as a shared memory of its own.
# Fix: pack each field of the targets into one tensor for the way (9 objects instead of 114): 1.25 to 1.67 times.
# Line: 50, collate_fn (the main process waits at 64).

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FIELDS = ("boxes", "labels", "area", "iscrowd", "image_id", "orig_size", "size")


class Coco(Dataset):
    def __init__(self, count=4000):
        self.count = count
        self.picture = torch.zeros(3, 96, 96, dtype=torch.uint8)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        n = 1 + i % 9
        target = {
            "boxes": torch.zeros(n, 4), "labels": torch.zeros(n, dtype=torch.int64), "area": torch.zeros(n),
            "iscrowd": torch.zeros(n, dtype=torch.int64), "image_id": torch.tensor([i]),
            "orig_size": torch.tensor([480, 640]), "size": torch.tensor([96, 96]),
        }
        return self.picture, target


def pack(targets):
    lengths = [len(t["boxes"]) for t in targets]
    return lengths, {name: torch.cat([t[name] for t in targets]) for name in FIELDS}


def unpack(lengths, packed):
    one, two = [1] * len(lengths), [2] * len(lengths)
    parts = {"image_id": one, "orig_size": two, "size": two}
    split = {name: packed[name].split(parts.get(name, lengths)) for name in FIELDS}
    return [{name: split[name][i] for name in FIELDS} for i in range(len(lengths))]


def collate_fn(batch):
    pictures, targets = zip(*batch, strict=True)
    if FIX:
        return torch.stack(pictures), pack(targets)
    return torch.stack(pictures), targets


def transfer_batch_to_device(gpu, pictures, targets):
    if FIX:
        targets = unpack(*targets)
    gpu.copy(pictures.nbytes, pinned=True, non_blocking=True)
    return targets


def train(gpu):
    loader = DataLoader(Coco(), 16, shuffle=True, num_workers=1, collate_fn=collate_fn, pin_memory=True, persistent_workers=True)
    samples = step = 0
    while not over():
        for pictures, targets in loader:
            targets = transfer_batch_to_device(gpu, pictures, targets)
            gpu.launch(0.0025, "backbone, decoder")
            gpu.launch(0.0045, "backward, adamw")
            step, samples = step + 1, samples + len(targets)
            if step % 100 == 0:
                print(f"step {step}: loss {gpu.item():.3f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    done(gpu, train(gpu))


if __name__ == "__main__":
    main()
