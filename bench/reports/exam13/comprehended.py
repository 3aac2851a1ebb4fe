"""Questions about paragraphs are answered; batches are padded in a worker and moved to the device."""

# https://github.com/allenai/allennlp/pull/1731

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, COUNT = 40, 80_000


class SquadReader(Dataset):
    def __init__(self):
        draw = random.Random(0)
        self.instances = [
            ([draw.randrange(5000) for _ in range(draw.randint(80, 300))], [draw.randrange(5000) for _ in range(12)])
            for _ in range(200)
        ]

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return self.instances[i % 200]


def as_tensor_dict(instances):
    longest = max(len(passage) for passage, _ in instances)
    passages = torch.tensor([passage + [0] * (longest - len(passage)) for passage, _ in instances])
    return {"passage": passages, "question": torch.tensor([question for _, question in instances])}


class BidirectionalAttentionFlow:
    def __init__(self, gpu):
        self.gpu = gpu

    def batch_loss(self, batch):
        size = sum(part.nbytes for part in batch.values())
        self.gpu.copy(size, pinned=FIX, non_blocking=FIX)
        for layer in ("highway, lstm", "attention", "modeling lstm", "span end lstm"):
            self.gpu.launch(0.0184, layer)
        self.gpu.launch(0.131, "backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=6 << 30), 0, 0
    model = BidirectionalAttentionFlow(gpu)
    options = {"num_workers": 1, "persistent_workers": True, "collate_fn": as_tensor_dict}
    loader = DataLoader(SquadReader(), BATCH, shuffle=True, **options)
    while not over():
        for batch in loader:
            model.batch_loss(batch)
            step, samples = step + 1, samples + BATCH
            if step % 10 == 0:
                print(f"em: 0.26, f1: 0.38, loss: {gpu.item():.4f} ||: {step}/2190", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
