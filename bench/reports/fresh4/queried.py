"""A database is searched through for each sample (graphnet-team/graphnet#451)."""

import sqlite3
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

EVENTS, PULSES = 2000, 20


def make_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE pulses (event_no INTEGER, time REAL, charge REAL)")
        rows = ((event, 0.5 * pulse, 1.5) for event in range(EVENTS) for pulse in range(PULSES))
        connection.executemany("INSERT INTO pulses VALUES (?, ?, ?)", rows)
        if FIX:
            connection.execute("CREATE INDEX of_event ON pulses (event_no)")
    return path


class SQLiteDataset(Dataset):
    def __init__(self, path):
        self.path, self.connection = path, None

    def __len__(self):
        return EVENTS

    def query_table(self, event):
        if self.connection is None:
            self.connection = sqlite3.connect(self.path)
        found = self.connection.execute("SELECT time, charge FROM pulses WHERE event_no = ?", (event,))
        return found.fetchall()

    def __getitem__(self, i):
        return torch.tensor(self.query_table(i))


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = torch.nn.Linear(2, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tempfile.TemporaryDirectory() as folder:
        data = SQLiteDataset(make_database(f"{folder}/events.db"))
        loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=1, persistent_workers=True, drop_last=True)
        while not over():
            for step, x in enumerate(loader):
                gpu.copy(x.nbytes)
                loss = model(x[:, 0]).square().mean()
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
