"""Small networks predict from gene expression how cell lines respond to drugs."""

# https://github.com/daisybio/drevalpy/pull/467

import tempfile
from pathlib import Path

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

CELLS, GENES, STEPS, BATCH = 500, 900, 60, 64
cached = {}


def write_features(path):
    draw = numpy.random.default_rng(0)
    lines = ["cell_line_name," + ",".join(f"gene{g}" for g in range(GENES))]
    lines += [f"cell{c}," + ",".join(f"{v:.5f}" for v in draw.normal(size=GENES)) for c in range(CELLS)]
    Path(path).write_text("\n".join(lines))


def load_and_select_gene_features(path):
    """Names of cells and their rows."""
    with open(path) as file:
        next(file)
        rows = [line.rstrip("\n").split(",") for line in file]
    return {row[0]: numpy.array([float(v) for v in row[1:]], numpy.float32) for row in rows}


def load_features(path):
    if not FIX:
        return load_and_select_gene_features(path)
    if path not in cached:
        cached[path] = load_and_select_gene_features(path)
    return cached[path]


class SingleDrugNetwork:
    def __init__(self, gpu, drug):
        self.gpu, self.drug = gpu, drug
        self.draw = numpy.random.default_rng(drug)

    def load_cell_line_features(self, path):
        features = load_features(path)
        self.cells = list(features)
        self.matrix = torch.from_numpy(numpy.stack([features[cell] for cell in self.cells]))

    def train(self):
        response = torch.from_numpy(self.draw.normal(size=len(self.cells)).astype(numpy.float32))
        for _ in range(STEPS):
            chosen = torch.from_numpy(self.draw.integers(0, len(self.cells), BATCH))
            x, y = self.matrix[chosen], response[chosen]
            self.gpu.copy(x.nbytes + y.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.0021, "dense layers, mse, backward, adam")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, drug = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/gene_expression.csv"
        write_features(path)
        while not over():
            model = SingleDrugNetwork(gpu, drug)
            model.load_cell_line_features(path)
            loss = model.train()
            drug, samples = drug + 1, samples + STEPS * BATCH
            print(f"drug {drug}/545: RMSE {loss:.4f}", flush=True)
        done(gpu, samples)


if __name__ == "__main__":
    main()
