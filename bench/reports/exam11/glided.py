"""How air flows about two wings is learned on meshes, whose points are a set to a transformer."""

# https://github.com/wandb/senpai/pull/1606

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

POINTS, FEATURES, BATCH = 6000, 18, 4


class TandemFoils(Dataset):
    def __init__(self, count=3000):
        draw = numpy.random.default_rng(0)
        self.meshes = [torch.from_numpy(draw.normal(size=(POINTS + 40 * m, FEATURES)).astype(numpy.float32)) for m in range(10)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        mesh = self.meshes[i % 10]
        return mesh, mesh[:, :3] * 0.5


def pad_collate(samples):
    inputs, fields = zip(*samples, strict=True)
    x = torch.nn.utils.rnn.pad_sequence(inputs, batch_first=True)
    mask = torch.arange(x.shape[1])[None] < torch.tensor([len(mesh) for mesh in inputs])[:, None]
    return x, torch.nn.utils.rnn.pad_sequence(fields, batch_first=True), mask


class Transolver:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, parts):
        self.gpu.copy(sum(part.nbytes for part in parts), pinned=True, non_blocking=True)
        for block in range(5):
            self.gpu.launch(0.021, f"slice attention {block}")
        self.gpu.launch(0.216, "surface and volume loss, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=17 << 30), 0, 0
    model = Transolver(gpu)
    options = {"num_workers": 2 if FIX else 1, "pin_memory": True, "persistent_workers": True}
    loader = DataLoader(TandemFoils(), BATCH, shuffle=True, collate_fn=pad_collate, **options)
    while not over():
        for parts in loader:
            model.step(parts)
            step, samples = step + 1, samples + len(parts[0])
            if step % 10 == 0:
                print(f"Epoch   1 [{step}]  train[vol={gpu.item():.4f} surf=0.0000]", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
