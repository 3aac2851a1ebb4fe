"""Energies of molecules on catalysts are learned from structures that are kept in a file of keys and values."""

# https://github.com/facebookresearch/fairchem/pull/154
# Cause: __getitem__ opens the file for each structure anew, which reads its whole index, and closes it again.
# Fix: open it once and leave it open.
# Line: 42, 51 to 53, 57 to 58: connect_db in SinglePointLmdbDataset.__getitem__.

import dbm.dumb
import pickle
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

STRUCTURES, BATCH = 1200, 8


def write_database(path):
    draw = numpy.random.default_rng(0)
    with dbm.dumb.open(path, "n") as env:
        for i in range(STRUCTURES):
            atoms = int(draw.integers(40, 90))
            edges = draw.integers(0, atoms, (2, 12 * atoms))
            structure = {
                "pos": draw.normal(size=(atoms, 3)).astype(numpy.float32),
                "atomic_numbers": draw.integers(1, 80, atoms).astype(numpy.uint8),
                "edge_index": edges.astype(numpy.int32),
                "y": float(draw.normal()),
            }
            env[f"{i}".encode()] = pickle.dumps(structure, protocol=-1)
        env[b"length"] = pickle.dumps(STRUCTURES)


class SinglePointLmdbDataset(Dataset):
    def __init__(self, db_path):
        self.db_path, self.env = db_path, None
        env = self.connect_db(db_path)
        self._keys = [f"{j}".encode() for j in range(pickle.loads(env[b"length"]))]
        env.close()

    def __len__(self):
        return len(self._keys)

    def __getitem__(self, idx):
        if FIX:
            self.env = self.env or self.connect_db(self.db_path)
            return pickle.loads(self.env[self._keys[idx]])
        env = self.connect_db(self.db_path)
        structure = pickle.loads(env[self._keys[idx]])
        env.close()
        return structure

    @staticmethod
    def connect_db(path):
        return dbm.dumb.open(path, "r")


def data_list_collater(structures):
    """One graph of many that do not touch."""
    atoms = torch.tensor([len(s["pos"]) for s in structures])
    first = torch.cat([torch.zeros(1, dtype=torch.long), atoms.cumsum(0)[:-1]])
    edges = [torch.from_numpy(s["edge_index"]) + int(shift) for s, shift in zip(structures, first, strict=True)]
    position = torch.from_numpy(numpy.concatenate([s["pos"] for s in structures]))
    numbers = torch.from_numpy(numpy.concatenate([s["atomic_numbers"] for s in structures]))
    return position, numbers, torch.cat(edges, 1), torch.tensor([s["y"] for s in structures]), atoms


class DimeNetPlusPlus:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch), pinned=True, non_blocking=True)
        for block in range(3):
            self.gpu.launch(0.0042, f"interaction {block}")
        self.gpu.launch(0.0245, "forces, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        write_database(f"{folder}/data.lmdb")
        dataset, model = SinglePointLmdbDataset(f"{folder}/data.lmdb"), DimeNetPlusPlus(gpu)
        loader = DataLoader(
            dataset, BATCH, shuffle=True, num_workers=1, collate_fn=data_list_collater, pin_memory=True, persistent_workers=True
        )
        while not over():
            for batch in loader:
                model.step(batch)
                step, samples = step + 1, samples + len(batch[-1])
                if step % 25 == 0:
                    print(f"energy_mae: {gpu.item():.4f}, lr: 1.00e-04, step: {step}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
