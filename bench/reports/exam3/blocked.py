"""Blocks of a batch are masked one by one, with a read from the device for each (NVIDIA-NeMo/Speech#15739)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Utterances(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(80, 40), 1000 + i % 800


class RandomBlockMasking(torch.nn.Module):
    def __init__(self, gpu, block_size=48, mask_prob=0.01):
        super().__init__()
        self.gpu, self.block_size, self.mask_prob = gpu, block_size, mask_prob
        self.mask_embedding = torch.zeros(1)

    def forward(self, lengths):
        return self.forward_at_once(lengths) if FIX else self.forward_with_overlap(lengths)

    def forward_with_overlap(self, lengths):
        masks = torch.zeros(len(lengths), 2000)
        masked_feats = torch.zeros(len(lengths), 2000)
        for i in range(len(lengths)):
            self.gpu.item()
            length = int(lengths[i])
            num_patches = numpy.random.binomial(length - self.block_size, self.mask_prob)
            patch_indices = torch.randperm(length - self.block_size)[:num_patches]
            self.gpu.launch(0.00001, "randperm")
            for j in range(num_patches):
                start = patch_indices[j]
                self.gpu.item()
                end = min(start + self.block_size, lengths[i])
                masks[i, start:end] = 1.0
                masked_feats[i, start:end] = self.mask_embedding
                self.gpu.launch(0.000005, "fill")
                self.gpu.launch(0.000005, "copy")
        return masked_feats, masks

    def forward_at_once(self, lengths):
        starts = torch.rand(len(lengths), 2000) < self.mask_prob
        masks = torch.nn.functional.max_pool1d(starts.float().unsqueeze(1), self.block_size, 1, self.block_size // 2)
        for name in ("rand", "lt", "max_pool1d", "where"):
            self.gpu.launch(0.00003, name)
        return masks, masks


class Encoder:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.masking = RandomBlockMasking(self.gpu)

    def training_step(self, batch):
        signal, lengths = batch
        self.gpu.copy(signal.nbytes)
        self.gpu.launch(0.004, "preprocessor")
        self.masking(lengths)
        self.gpu.launch(0.03, "encoder, decoder, backward")


def main():
    torch.set_num_threads(1)
    model, samples = Encoder(), 0
    for batch in DataLoader(Utterances(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True):
        model.training_step(batch)
        samples += len(batch[0])
        if over():
            break
    done(model.gpu, samples)


if __name__ == "__main__":
    main()
