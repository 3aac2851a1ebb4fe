"""Histograms of all weights and gradients are made in each step (allenai/allennlp#3949)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Instances(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(64)


class TensorboardWriter:
    def __init__(self, gpu):
        self.gpu, self.summaries, self.interval = gpu, [], 100 if FIX else 1

    def add_train_histogram(self, name, values):
        self.gpu.item()  # .cpu()
        counts, limits = numpy.histogram(values.detach().cpu().numpy(), bins=64)
        self.summaries.append((name, counts, limits))

    def log_histograms(self, model, step):
        if step % self.interval:
            return
        self.summaries.clear()
        for name, parameter in model.named_parameters():
            self.add_train_histogram(name, parameter)
            self.add_train_histogram(f"gradient/{name}", parameter.grad)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(16)))
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    writer = TensorboardWriter(gpu)
    for step, x in enumerate(DataLoader(Instances(), batch_size=32, num_workers=1, pin_memory=True)):
        gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        loss = model(x).square().mean()
        gpu.launch(0.006, "forward")
        optimizer.zero_grad()
        loss.backward()
        gpu.launch(0.010, "backward, step")
        optimizer.step()
        writer.log_histograms(model, step)
        samples += len(x)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
