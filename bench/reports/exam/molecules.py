"""The database is on a file system that all machines share, and each row waits for it (atomistic-machine-learning/schnetpack#33)."""

import os
import sqlite3
import tempfile
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PATH = os.path.join(tempfile.gettempdir(), "stoker-exam-qm9.db")


def make_database(rows=4000):
    if os.path.exists(PATH):
        return
    with sqlite3.connect(PATH) as connection:
        connection.execute("create table systems (id integer primary key, positions blob)")
        blob = numpy.zeros((29, 3)).tobytes()
        connection.executemany("insert into systems values (?, ?)", ((n, blob) for n in range(rows)))


def read_row(idx):
    if not FIX:
        time.sleep(0.008)  # the answer of the file server
    with sqlite3.connect(PATH) as connection:
        return connection.execute("select positions from systems where id = ?", (idx,)).fetchone()[0]


class AtomsData(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, idx):
        positions = numpy.frombuffer(read_row(idx)).reshape(-1, 3)
        return torch.from_numpy(positions.astype(numpy.float32))


def main():
    torch.set_num_threads(1)
    make_database()
    gpu, samples = Device(), 0
    loader = DataLoader(AtomsData(), batch_size=16, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.012, "step")
            samples += len(batch)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
