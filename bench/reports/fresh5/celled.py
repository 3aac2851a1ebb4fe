"""A recurrent cell is called for each time step (pytorch/examples#80)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __len__(self):
        return 6400

    def __getitem__(self, i):
        return torch.full((60, 4), float(i % 7))


class Decoder(nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.cell, self.rnn, self.out = gpu, nn.LSTMCell(4, 8), nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x):
        if FIX:
            self.gpu.launch(0.003, "cudnn lstm")
            return self.out(self.rnn(x)[0][:, -1])
        h = c = torch.zeros(len(x), 8)
        for t in range(x.shape[1]):
            for name in ("gemm", "gemm", "add", "sigmoid", "tanh", "mul"):
                self.gpu.launch(0.000008, name)
            h, c = self.cell(x[:, t], (h, c))
        return self.out(h)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = Decoder(gpu)
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(Sentences(), batch_size=64, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for step, x in enumerate(loader):
            gpu.copy(x.nbytes)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.003, "backward")
            optimizer.step()
            samples += len(x)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
