"""Solubility is learned from molecules that are written as SMILES; a message passing network sees them as graphs."""

# https://github.com/chemprop/chemprop/pull/903
# Cause: each molecule is made a graph again in each epoch, in the training loop's own process.
# Fix: keep the graphs (dataset.cache = True).
# Line: 20 to 22, 27 to 49, 54 to 68, 93: the featurizer, called in MoleculeDataset.__getitem__.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

MOLECULES, BATCH = 1000, 32
ATOMS, BONDS = {a: i for i, a in enumerate(["C", "N", "O", "S", "F", "Cl", "Br"])}, {"": 0, "=": 1, "#": 2, ":": 3}
DEGREES, HYDROGENS = range(6), range(5)


def one_hot(value, choices):
    row = [0] * (len(choices) + 1)
    row[choices.index(value) if value in choices else -1] = 1
    return row


def parse_smiles(smiles):
    """Atoms, and bonds with their kind: branches in brackets, rings by digits."""
    atoms, bonds, stack, rings, last, order, i = [], [], [], {}, None, "", 0
    while i < len(smiles):
        sign = smiles[i]
        if sign == "(":
            stack.append(last)
        elif sign == ")":
            last = stack.pop()
        elif sign in "=#:":
            order = sign
        elif sign.isdigit():
            if sign in rings:
                bonds.append((rings.pop(sign), last, order))
            else:
                rings[sign] = last
            order = ""
        else:
            name = smiles[i : i + 2] if smiles[i : i + 2] in ATOMS else sign
            atoms.append(name)
            if last is not None:
                bonds.append((last, len(atoms) - 1, order))
            last, order, i = len(atoms) - 1, "", i + len(name) - 1
        i += 1
    return atoms, bonds


class SimpleMoleculeMolGraphFeaturizer:
    def __call__(self, smiles):
        atoms, bonds = parse_smiles(smiles)
        degree, valence = [0] * len(atoms), [0] * len(atoms)
        for a, b, order in bonds:
            for atom in (a, b):
                degree[atom] += 1
                valence[atom] += BONDS[order] + 1
        rows = []
        for atom, d, v in zip(atoms, degree, valence, strict=True):
            rows.append(
                one_hot(atom, list(ATOMS)) + one_hot(d, DEGREES) + one_hot(max(4 - v, 0), HYDROGENS)
                + one_hot(v, DEGREES) + [len(atom) * 0.01]
            )
        edges = [(a, b) for a, b, _ in bonds] + [(b, a) for a, b, _ in bonds]
        kinds = [one_hot(order, list(BONDS)) + one_hot(degree[a], DEGREES) for a, _, order in bonds] * 2
        return numpy.array(rows, numpy.float32), numpy.array(kinds, numpy.float32), numpy.array(edges).T


def random_smiles(draw):
    """A chain with branches and rings of six."""
    parts = []
    for _ in range(int(draw.integers(14, 21))):
        atom = draw.choice(list(ATOMS)[:4])
        parts.append(draw.choice([f"{atom}", f"C({atom}=O)", "C1CCCCC1", f"C({atom}C)C", "C(F)Cl", "C1=CC=CN=C1"]))
    return "".join(parts)


class MoleculeDataset(Dataset):
    def __init__(self, featurizer):
        draw = numpy.random.default_rng(0)
        self.featurizer, self.graphs = featurizer, None
        self.smiles, self.targets = [random_smiles(draw) for _ in range(MOLECULES)], draw.normal(size=MOLECULES)

    def cache(self):
        self.graphs = [self.featurizer(smiles) for smiles in self.smiles]

    def __len__(self):
        return MOLECULES

    def __getitem__(self, i):
        return self.graphs[i] if self.graphs else self.featurizer(self.smiles[i]), self.targets[i]


def collate_batch(batch):
    graphs, targets = zip(*batch, strict=True)
    shift = numpy.cumsum([0] + [len(atoms) for atoms, _, _ in graphs])
    edges = numpy.concatenate([edge + first for (_, _, edge), first in zip(graphs, shift, strict=False)], 1)
    atoms, bonds = (numpy.concatenate([graph[part] for graph in graphs]) for part in (0, 1))
    return torch.from_numpy(atoms), torch.from_numpy(bonds), torch.from_numpy(edges), torch.tensor(targets)


class MPNN:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch), pinned=True, non_blocking=True)
        for depth in range(3):
            self.gpu.launch(0.0012, f"message passing {depth}")
        self.gpu.launch(0.0042, "readout, mse, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    dataset, model = MoleculeDataset(SimpleMoleculeMolGraphFeaturizer()), MPNN(gpu)
    over()
    if FIX:
        dataset.cache()
    loader = DataLoader(dataset, BATCH, shuffle=True, collate_fn=collate_batch)
    while not over():
        for batch in loader:
            model.training_step(batch)
            samples += len(batch[-1])
            if over():
                break
        epoch += 1
        print(f"Epoch {epoch}: train_loss={gpu.item():.3f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
