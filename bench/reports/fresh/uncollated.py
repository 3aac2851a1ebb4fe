"""Each batch is taken apart into samples again, in the training loop (BiomedSciAI/fuse-med-ml#267)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

KEYS = [f"data.input.{n}" for n in range(10)]


class Patients(Dataset):
    def __len__(self):
        return 51_200

    def __getitems__(self, indices):
        return {key: torch.zeros(len(indices), 16) for key in KEYS}

    def __getitem__(self, i):
        return self.__getitems__([i])


def uncollate(batch):
    samples = []
    for n in range(len(batch[KEYS[0]])):
        samples.append({key: values[n] for key, values in batch.items()})
    return samples


def gather(batches):
    return {key: torch.cat([b[key] for b in batches]) for key in KEYS}


def main():
    gpu, losses = Device(), torch.nn.Linear(16, 1)
    loader = DataLoader(Patients(), batch_size=512, shuffle=True, num_workers=1, pin_memory=True, collate_fn=lambda batch: batch)
    kept, samples = [], 0
    while not over():
        for batch in loader:
            gpu.copy(sum(v.nbytes for v in batch.values()), pinned=True, non_blocking=True)
            gpu.launch(0.012, "step")
            kept.append(batch if FIX else uncollate(batch))
            samples += 512
            if over():
                break
        if FIX:
            losses(gather(kept)[KEYS[0]])
        kept.clear()
    done(gpu, samples)


if __name__ == "__main__":
    main()
