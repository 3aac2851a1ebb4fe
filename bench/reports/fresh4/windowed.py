"""A row of a table is read by iloc for each window (braindecode/braindecode#89)."""

import numpy
import pandas
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

COUNT, LENGTH = 20_000, 256


class WindowsDataset(Dataset):
    """Windows of a recording, each by its place in a table."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        starts = draw.integers(0, 400_000, COUNT)
        self.raw = draw.standard_normal((22, 410_000), dtype=numpy.float32)
        self.metadata = pandas.DataFrame({
            "i_window_in_trial": numpy.arange(COUNT), "i_start_in_trial": starts, "i_stop_in_trial": starts + LENGTH,
            "target": draw.integers(0, 4, COUNT), "subject": draw.integers(0, 9, COUNT), "session": "T",
        })
        if FIX:
            self.y = self.metadata["target"].to_numpy()
            self.crop_inds = self.metadata[["i_window_in_trial", "i_start_in_trial", "i_stop_in_trial"]].to_numpy()

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        if FIX:
            y, (_, start, stop) = self.y[index], self.crop_inds[index]
        else:
            windows = self.metadata.iloc[index]
            y = windows["target"]
            start, stop = self.metadata.iloc[index]["i_start_in_trial"], self.metadata.iloc[index]["i_stop_in_trial"]
        return torch.from_numpy(self.raw[:, start:stop]), int(y)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    loader = DataLoader(WindowsDataset(), batch_size=64, shuffle=True, drop_last=True)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    while not over():
        for step, (x, y) in enumerate(loader):
            gpu.copy(x.nbytes)
            loss = model(x[:, 0, :4]).square().mean() + 0 * y.sum()
            gpu.launch(0.004, "forward")
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.008, "backward, step")
            optimizer.step()
            samples += len(x)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
