"""Molecules become graphs of features again in each epoch (chemprop/chemprop#903)."""

import random
from typing import NamedTuple

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Atom(NamedTuple):
    number: int
    degree: int
    charge: int
    chirality: int
    hydrogens: int
    hybridization: int
    aromatic: bool
    mass: float


class MolGraph(NamedTuple):
    V: numpy.ndarray
    E: numpy.ndarray
    edge_index: numpy.ndarray


class Mol:
    """What a toolkit parsed from a line: atoms and bonds."""

    def __init__(self, draw):
        size = draw.randrange(18, 40)
        self.atoms = [
            Atom(draw.choice([6, 6, 6, 7, 8, 16]), draw.randrange(1, 5), 0, draw.randrange(3), draw.randrange(4), draw.randrange(3), draw.random() < 0.5, 12.0)
            for _ in range(size)
        ]
        self.bonds = [(draw.randrange(i), i, draw.randrange(4)) for i in range(1, size)] + [(0, size - 1, 1), (2, size - 3, 1)]


class MultiHotAtomFeaturizer:
    choices = [list(range(1, 37)) + [53], list(range(6)), [-1, -2, 1, 2, 0], list(range(4)), list(range(5)), list(range(5))]

    def __call__(self, atom):
        x = numpy.zeros(sum(len(part) + 1 for part in self.choices) + 2)
        offset = 0
        for value, part in zip(atom[:6], self.choices, strict=True):
            x[offset + (part.index(value) if value in part else len(part))] = 1
            offset += len(part) + 1
        x[offset], x[offset + 1] = int(atom.aromatic), 0.01 * atom.mass
        return x


class MultiHotBondFeaturizer:
    def __call__(self, kind, ring):
        x = numpy.zeros(14)
        x[1 + kind], x[5], x[6], x[7] = 1, int(kind > 1), int(ring), 1
        return x


class SimpleMoleculeMolGraphFeaturizer:
    def __init__(self):
        self.atom_featurizer, self.bond_featurizer = MultiHotAtomFeaturizer(), MultiHotBondFeaturizer()

    def __call__(self, mol):
        atoms = numpy.array([self.atom_featurizer(atom) for atom in mol.atoms], numpy.float32)
        bonds, edges = [], [[], []]
        for start, end, kind in mol.bonds:
            features = self.bond_featurizer(kind, end - start > 2)
            bonds += [features, features]
            edges[0] += [start, end]
            edges[1] += [end, start]
        return MolGraph(atoms, numpy.array(bonds, numpy.float32), numpy.array(edges))


class MoleculeDataset(Dataset):
    def __init__(self, mols, featurizer, cache=False):
        self.mols, self.featurizer = mols, featurizer
        self.graphs = [featurizer(mol) for mol in mols] if cache else None

    def __len__(self):
        return len(self.mols)

    def __getitem__(self, i):
        graph = self.graphs[i] if self.graphs else self.featurizer(self.mols[i])
        return graph, numpy.float32(i % 7)


def collate_batch(batch):
    graphs, targets = zip(*batch, strict=True)
    shifts = numpy.cumsum([0] + [len(graph.V) for graph in graphs[:-1]])
    edges = numpy.concatenate([graph.edge_index + shift for graph, shift in zip(graphs, shifts, strict=True)], 1)
    parts = numpy.concatenate([g.V for g in graphs]), numpy.concatenate([g.E for g in graphs]), edges, numpy.array(targets)
    return [torch.from_numpy(part) for part in parts]


class MPNN:
    def __init__(self):
        self.gpu = Device(spin=False)

    def training_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch))
        self.gpu.launch(0.005, "messages, readout, backward, adam")
        return len(batch[-1])


def main():
    torch.set_num_threads(1)
    draw = random.Random(0)
    mols = [Mol(draw) for _ in range(2000)]
    over()
    data = MoleculeDataset(mols, SimpleMoleculeMolGraphFeaturizer(), cache=FIX)
    loader, model, samples = DataLoader(data, 64, shuffle=True, collate_fn=collate_batch), MPNN(), 0
    while not over():
        for batch in loader:
            samples += model.training_step(batch)
            if over():
                break
        print(f"epoch: loss {model.gpu.item():.4f}", flush=True)
    done(model.gpu, samples)


if __name__ == "__main__":
    main()
