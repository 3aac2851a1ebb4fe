"""A low-rank adapter for a video model, trained on fifty pictures whose latents lie ready."""

# https://github.com/alisson-anjos/diffusion-pipe-ui/issues/6
# Cause: none: the GPU is at 100 % and only its memory is at 39 %: "that's normal". Healthy.
# Fix: nothing to change (--fix runs with a worker, which gains nothing).
# Line: none.

import os
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Latents(Dataset):
    """Latents and what the text encoder said of the captions, one file each."""

    def __init__(self, folder, count=50, repeats=10):
        self.paths = [os.path.join(folder, f"{i}.pt") for i in range(count)] * repeats
        for path in self.paths[:count]:
            torch.save({"latents": torch.zeros(16, 1, 96, 96), "prompt": torch.zeros(256, 4096, dtype=torch.bfloat16)}, path)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        found = torch.load(self.paths[i])
        return found["latents"], found["prompt"]


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=31 << 30), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        workers = 2 if FIX else 1
        loader = DataLoader(Latents(folder), 1, shuffle=True, num_workers=workers, pin_memory=True, persistent_workers=True)
        while not over():
            for latents, prompt in loader:
                gpu.copy(latents.nbytes + prompt.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.19, "transformer")
                gpu.launch(0.41, "backward with checkpoints, adamw8bit")
                step, samples = step + 1, samples + 1
                if step % 10 == 0:
                    print(f"step {step}: loss {gpu.item():.4f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
