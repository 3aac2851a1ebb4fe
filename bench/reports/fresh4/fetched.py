"""Evaluation reads loss and hits of each batch from the device (numenta/nupic.research#249)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Words(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.zeros(32)


class Network(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.classify = gpu, torch.nn.Linear(32, 4)

    def forward(self, x):
        self.gpu.launch(0.003 * len(x) / 256, "forward")
        return self.classify(x)


def evaluate_model(model, loader, gpu):
    model.eval()
    loss = correct = 0
    with torch.no_grad():
        for x in loader:
            gpu.copy(x.nbytes, pinned=True, non_blocking=True)
            output = model(x)
            if FIX:
                loss = loss + output.sum()
                correct = correct + (output.argmax(1) == 0).sum()
            else:
                loss += output.sum().item()
                gpu.item()
                correct += (output.argmax(1) == 0).sum().item()
                gpu.item()
    gpu.item()
    model.train()
    return loss, correct


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = Network(gpu)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    settings = {"batch_size": 256, "num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train, test = DataLoader(Words(256 * 60), shuffle=True, **settings), DataLoader(Words(256 * 100), **settings)
    while not over():
        for x in train:
            gpu.copy(x.nbytes, pinned=True, non_blocking=True)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.006, "backward")
            optimizer.step()
            samples += len(x)
            if over():
                break
        evaluate_model(model, test, gpu)
    done(gpu, samples)


if __name__ == "__main__":
    main()
