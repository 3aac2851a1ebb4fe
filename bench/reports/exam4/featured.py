"""Definitions of chemical features are parsed from their file for each molecule (awslabs/dgl-lifesci#206)."""

import os
import random
import re
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FAMILIES = ["Donor", "Acceptor", "NegIonizable", "PosIonizable", "ZnBinder", "Aromatic", "Hydrophobe", "LumpedHydrophobe"]


def write_definitions(path, count=160):
    """A file like BaseFeatures.fdef: patterns, some made of others."""
    draw = random.Random(0)
    with open(path, "w") as file:
        for n in range(count):
            pattern = "".join(draw.choice(["[#6]", "[#7;!H0]", "[O,S;H1;+0]", "(=O)", "[$(C-[a])]", "~", "@", "[r5]"]) for _ in range(12))
            file.write(f"# pattern {n}\nDefineFeature Feature{n} [{pattern}]\n  Family {FAMILIES[n % 8]}\n  Weights 1.0,{draw.random():.3f}\nEndFeature\n\n")


class FeatureFactory:
    """Features of a molecule by family, from a file of definitions."""

    line = re.compile(r"^\s*(?P<word>DefineFeature|Family|Weights|EndFeature)\s*(?P<rest>.*)$")
    piece = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]|\([^()]*\)|[~@=#-]")

    def __init__(self, path):
        self.definitions, current = [], {}
        with open(path) as file:
            for text in file:
                found = self.line.match(text)
                if not found:
                    continue
                word, rest = found["word"], found["rest"]
                if word == "DefineFeature":
                    name, pattern = rest.split(" ", 1)
                    current = {"name": name, "atoms": [self.atom(piece) for piece in self.piece.findall(pattern[1:-1])]}
                elif word == "Family":
                    current["family"] = FAMILIES.index(rest)
                elif word == "Weights":
                    current["weights"] = [float(weight) for weight in rest.split(",")]
                else:
                    self.definitions.append(current)

    def atom(self, piece):
        numbers = [int(number) for number in re.findall(r"#(\d+)", piece)]
        return {"numbers": numbers, "negated": "!" in piece, "ring": "r" in piece, "options": re.split("[,;]", piece.strip("[]"))}

    def features_for(self, numbers):
        table = numpy.zeros((len(numbers), len(FAMILIES)), numpy.float32)
        for definition in self.definitions[::8]:
            wanted = definition["atoms"][0]["numbers"] if definition["atoms"] else []
            table[numpy.isin(numbers, wanted), definition["family"]] = 1
        return table


class AlchemyNodeFeaturizer:
    def __init__(self, fdef_name):
        self.fdef_name = fdef_name
        self._mol_featurizer = FeatureFactory(fdef_name) if FIX else None

    def __call__(self, numbers):
        factory = self._mol_featurizer or FeatureFactory(self.fdef_name)
        kinds = numpy.eye(120, dtype=numpy.float32)[numbers][:, [1, 6, 7, 8, 9, 16]]
        return torch.from_numpy(numpy.concatenate([kinds, numbers[:, None].astype(numpy.float32), factory.features_for(numbers)], 1))


class TencentAlchemy(Dataset):
    """Molecules and their quantum properties."""

    def __init__(self, featurizer, size=8000):
        draw = numpy.random.default_rng(0)
        self.featurizer = featurizer
        self.molecules = [draw.choice([1, 6, 7, 8], draw.integers(10, 28)) for _ in range(size)]
        self.labels = torch.zeros(size, 12)

    def __len__(self):
        return len(self.molecules)

    def __getitem__(self, i):
        return self.featurizer(self.molecules[i]), self.labels[i]


def collate_molgraphs(samples):
    graphs, labels = zip(*samples, strict=True)
    return torch.cat(graphs), torch.stack(labels)


def run_a_train_epoch(gpu, epoch, loader):
    samples = 0
    for nodes, labels in loader:
        gpu.copy(nodes.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.02, "mgcn, backward, adam")
        samples += len(labels)
        if over():
            break
    print(f"epoch {epoch}, training score {gpu.item():.4f}", flush=True)
    return samples


def main():
    torch.set_num_threads(1)
    gpu, epoch, samples = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "BaseFeatures.fdef")
        write_definitions(path)
        data = TencentAlchemy(AlchemyNodeFeaturizer(path))
        settings = {"num_workers": 2, "pin_memory": True, "persistent_workers": True}
        loader = DataLoader(data, 32, shuffle=True, collate_fn=collate_molgraphs, **settings)
        while not over():
            samples += run_a_train_epoch(gpu, epoch, loader)
            epoch += 1
    done(gpu, samples)


if __name__ == "__main__":
    main()
