"""Super-resolution by attention in windows; every second layer shifts them and needs a mask."""

# https://github.com/HVision-NKU/SRFormer/issues/5
# Cause: each shifted block computes its mask again on the CPU at each pass, and copies it.
# Fix: compute the mask on the GPU.
# Line: 47 to 60, calculate_mask (called at 67).

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SIDE, WINDOW, SHIFT = 66, 22, 11


class Patches(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, i):
        return torch.full((3, SIDE, SIDE), i / 3200), torch.zeros(3, 2 * SIDE, 2 * SIDE)


def window_partition(x, size):
    b, h, w, c = x.shape
    x = x.view(b, h // size, size, w // size, size, c)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, size, size, c)


class PSABlock:
    """Attention that is permuted; the even ones are not shifted."""

    def __init__(self, gpu, shifted):
        self.gpu, self.shifted = gpu, shifted

    def mask_on_gpu(self):
        for name in ("fill", "partition", "subtract", "masked_fill"):
            self.gpu.launch(2e-5, name)

    def attention(self):
        self.gpu.launch(0.0009, "windows, attention")
        self.gpu.launch(0.0006, "mlp")

    def slices(self):
        return slice(0, -WINDOW), slice(-WINDOW, -SHIFT), slice(-SHIFT, None)

    def calculate_mask(self, h, w):
        img_mask = torch.zeros((1, h, w, 1))
        count = 0
        for rows in self.slices():
            for columns in self.slices():
                img_mask[:, rows, columns, :] = count
                count += 1
        windows = window_partition(img_mask, WINDOW).view(-1, WINDOW * WINDOW)
        small = img_mask.view(1, h // 2, 2, w // 2, 2, 1).permute(0, 1, 3, 5, 2, 4).contiguous()
        small = window_partition(small.view(1, h // 2, w // 2, 4), WINDOW // 2)[..., 0].view(-1, (WINDOW // 2) ** 2)
        attn_mask = small.unsqueeze(1) - windows.unsqueeze(2)
        attn_mask = attn_mask.masked_fill(attn_mask != 0, -100.0).masked_fill(attn_mask == 0, 0.0)
        self.gpu.copy(attn_mask.nbytes)
        return attn_mask

    def forward(self, h, w):
        if self.shifted:
            if FIX:
                self.mask_on_gpu()
            else:
                self.calculate_mask(h, w)
        self.attention()


def train(gpu, loader):
    samples = step = 0
    blocks = [PSABlock(gpu, shifted=number % 2 == 1) for number in range(24)]
    while not over():
        for low, high in loader:
            gpu.copy(low.nbytes + high.nbytes, pinned=True, non_blocking=True)
            for block in blocks:
                block.forward(SIDE, SIDE)
            gpu.launch(0.004, "upsample, l1")
            gpu.launch(0.030, "backward, adam")
            samples, step = samples + len(low), step + 1
            if step % 20 == 0:
                print(f"iteration {step}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(Patches(), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
