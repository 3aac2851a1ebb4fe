"""The progress bar reads three losses of the device in each step (meta-pytorch/torchtune#522, yl4579/StyleTTS2#217)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class Tokens(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(64, dtype=torch.long)


def train_step(gpu, batch):
    """Forward, backward and the optimizer's many small kernels."""
    gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
    total = 0
    for _ in range(120):
        total += sum(i * i for i in range(250))  # the host's own work to launch one
        gpu.launch(0.0001, "kernel")
    return total


def main():
    gpu = Device()
    bar = tqdm(DataLoader(Tokens(), batch_size=16, num_workers=1, pin_memory=True), mininterval=5)
    samples = 0
    for step, batch in enumerate(bar):
        train_step(gpu, batch)
        samples += len(batch)
        if not FIX or step % 50 == 0:
            bar.set_postfix(loss=gpu.item(), mono=gpu.item(), s2s=gpu.item(), refresh=False)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
