"""A language model whose trainer shows the mean loss and the mean accuracy so far."""

# https://github.com/erfanzar/EasyDeL/pull/100
# Cause: losses and accuracies of all steps are kept in lists that are summed anew at each step: steps grow longer.
# Fix: keep a running sum instead of lists.
# Line: 46, 47 and 52 to 54, sums over the lists in Means.update.

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 8192

    def __getitem__(self, i):
        return torch.full((512,), i % 32_000)


class Model:
    def __init__(self, gpu):
        self.gpu, self.seen = gpu, 0

    def step(self, tokens):
        self.gpu.copy(tokens.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.003, "forward")
        self.gpu.launch(0.006, "backward, adamw")
        self.seen += len(tokens)
        return torch.tensor(10 / (1 + self.seen)), torch.tensor(0.5)


class Means:
    def __init__(self, gpu):
        self.gpu = gpu
        self.losses, self.accuracies, self.loss, self.accuracy, self.count = [], [], 0.0, 0.0, 0

    def update(self, loss, accuracy):
        self.count += 1
        if FIX:
            self.loss, self.accuracy = self.loss + loss, self.accuracy + accuracy
            return self.loss / self.count, self.accuracy / self.count
        self.losses.append(loss)
        self.accuracies.append(accuracy)
        mean_loss = self.sum(self.losses) / len(self.losses)
        mean_accuracy = self.sum(self.accuracies) / len(self.accuracies)
        return mean_loss, mean_accuracy

    def sum(self, numbers):
        """What sum() does with numbers that lie on the GPU: one addition there for each."""
        total = 0.0
        for number in numbers:
            total = total + number
            self.gpu.launch(2e-6, "add")
        return total


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model, means = Model(gpu), Means(gpu)
    loader = DataLoader(Tokens(), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for tokens in loader:
            loss, accuracy = model.step(tokens)
            mean_loss, mean_accuracy = means.update(loss, accuracy)
            gpu.item()  # the numbers of the progress bar
            step, samples = step + 1, samples + len(tokens)
            if step % 100 == 0:
                print(f"step {step}: loss {float(mean_loss):.4f}, accuracy {float(mean_accuracy):.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
