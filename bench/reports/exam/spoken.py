"""Whole sentences are spoken step by step at each validation (uberduck-ai/uberduck-ml-dev#72)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class TextMel(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.zeros(80, 64)


class Tacotron2(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu = gpu

    def forward(self, mels):
        self.gpu.launch(0.0003 * len(mels), "teacher forcing")
        return mels

    def inference(self, steps=400):
        frames = []
        for _ in range(steps):
            self.gpu.launch(0.0005, "decoder step")
            if self.gpu.item() > 0.5:  # the gate
                break
            frames.append(torch.zeros(80))
        return torch.stack(frames)


class Trainer:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.model, self.epoch, self.samples = Tacotron2(self.gpu), 0, 0
        settings = {"batch_size": 32, "num_workers": 1, "pin_memory": True, "persistent_workers": True}
        self.train_loader = DataLoader(TextMel(32 * 80), shuffle=True, **settings)
        self.val_loader = DataLoader(TextMel(32 * 4), **settings)

    @torch.no_grad()
    def sample_inference(self):
        return [self.model.inference() for _ in range(4)]

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        for mels in self.val_loader:
            self.gpu.copy(mels.nbytes, pinned=True, non_blocking=True)
            self.model(mels)
            self.gpu.item()
        if not FIX:
            self.sample_inference()
        self.model.train()

    def train(self):
        while not over():
            for mels in self.train_loader:
                self.gpu.copy(mels.nbytes, pinned=True, non_blocking=True)
                self.model(mels)
                self.gpu.launch(0.004, "backward, step")
                self.gpu.item()
                self.samples += len(mels)
                if over():
                    return
            self.epoch += 1
            self.validate()


def main():
    torch.set_num_threads(1)
    trainer = Trainer()
    trainer.train()
    done(trainer.gpu, trainer.samples)


if __name__ == "__main__":
    main()
