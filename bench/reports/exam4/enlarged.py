"""Each block makes its attention mask on the host in each forward pass (HVision-NKU/SRFormer#5)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class PairedImages(Dataset):
    """Crops of pictures and the same four times as small."""

    def __len__(self):
        return 3200

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64), torch.zeros(3, 256, 256)


def window_partition(x, size):
    b, h, w, c = x.shape
    x = x.view(b, h // size, size, w // size, size, c)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, size, size, c)


class PSABlock:
    """Permuted self-attention in windows, half of them shifted."""

    def __init__(self, gpu, window_size=16, shift_size=0):
        self.gpu, self.window_size, self.shift_size = gpu, window_size, shift_size

    def calculate_mask(self, x_size):
        h, w = x_size
        if FIX:
            for name in ("zeros", "fill", "permute", "sub", "masked_fill", "masked_fill"):
                self.gpu.launch(0.00002, name)
            return None
        img_mask = torch.zeros((1, h, w, 1))
        slices = (slice(0, -self.window_size), slice(-self.window_size, -self.shift_size), slice(-self.shift_size, None))
        count = 0
        for rows in slices:
            for columns in slices:
                img_mask[:, rows, columns, :] = count
                count += 1
        windows = window_partition(img_mask, self.window_size).view(-1, self.window_size**2)
        attn_mask = windows.unsqueeze(1) - windows.unsqueeze(2)
        return attn_mask.masked_fill(attn_mask != 0, -100.0).masked_fill(attn_mask == 0, 0.0)

    def __call__(self, x_size):
        self.gpu.launch(0.0001, "norm, roll, partition")
        if self.shift_size > 0:
            mask = self.calculate_mask(x_size)
            if mask is not None:
                self.gpu.copy(mask.nbytes)  # .to(x.device)
        self.gpu.launch(0.0003, "attention, reverse")
        self.gpu.launch(0.0003, "conv ffn")


class SRFormer:
    def __init__(self, gpu, depths=(6, 6, 6, 6)):
        self.gpu = gpu
        self.blocks = [PSABlock(gpu, shift_size=8 * (n % 2)) for depth in depths for n in range(depth)]

    def forward(self, lq):
        self.gpu.launch(0.0005, "conv first")
        for block in self.blocks:
            block(tuple(lq.shape[2:]))
        self.gpu.launch(0.001, "upsample")


class SRModel:
    """Feeds data, makes a step, and logs now and then, as the toolbox does."""

    def __init__(self):
        self.gpu = Device(spin=False)
        self.net_g = SRFormer(self.gpu)

    def feed_data(self, data):
        self.lq, self.gt = data
        self.gpu.copy(self.lq.nbytes + self.gt.nbytes, pinned=True, non_blocking=True)

    def optimize_parameters(self):
        self.net_g.forward(self.lq)
        self.gpu.launch(0.036, "loss, backward, adam, ema")

    def get_current_log(self):
        return {"l_pix": self.gpu.item()}


def main():
    torch.set_num_threads(1)
    model, current_iter, samples = SRModel(), 0, 0
    loader = DataLoader(PairedImages(), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for data in loader:
            current_iter += 1
            model.feed_data(data)
            model.optimize_parameters()
            samples += len(model.lq)
            if current_iter % 25 == 0:
                print(f"iter {current_iter}: {model.get_current_log()}", flush=True)
            if over():
                break
    done(model.gpu, samples)


if __name__ == "__main__":
    main()
