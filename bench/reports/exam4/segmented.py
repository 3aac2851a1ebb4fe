"""Garbage is collected after each batch that a writer is handed (dpeerlab/segger#46)."""

import gc
import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Tiles(Dataset):
    """Tiles of a tissue: transcripts, and the nuclei that they may belong to."""

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        draw = torch.Generator().manual_seed(i)
        return {"x": torch.rand((1500, 3), generator=draw), "edges": torch.randint(0, 150, (2, 4500), generator=draw), "tile": i}


def first(batch):
    return batch[0]


class Panel:
    """Facts about each cell: made from tables when the run begins."""

    def __init__(self, cells=120_000):
        draw = random.Random(0)
        self.cells = {f"cell-{n}": {"genes": [draw.randrange(400) for _ in range(3)], "at": [draw.random(), draw.random()]} for n in range(cells)}


class ISTSegmentationWriter:
    def __init__(self, panel):
        self.panel, self.names = panel, list(panel.cells)
        self.assigned = 0

    def assign(self, edges, similarity):
        """The likeliest nucleus of each transcript, where it is likely enough."""
        order = numpy.lexsort((-similarity, edges[0]))
        transcripts, first_of = numpy.unique(edges[0][order], return_index=True)
        chosen = order[first_of]
        return transcripts[similarity[chosen] > 0.5], edges[1][chosen]

    def write(self, batch):
        edges = batch["edges"].numpy()
        similarity = numpy.random.default_rng(batch["tile"]).random(edges.shape[1])
        transcripts, _ = self.assign(edges, similarity)
        self.assigned += len(transcripts)
        if not FIX:
            gc.collect()


class LitISTEncoder:
    def __init__(self):
        self.gpu = Device(spin=False)

    def predict_step(self, batch):
        self.gpu.copy(batch["x"].nbytes + batch["edges"].nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.016, "gat, similarity")
        return batch


def predict(model, loader, writer):
    samples = 0
    while not over():
        for batch in loader:
            batch = model.predict_step(batch)
            model.gpu.item()
            writer.write(batch)
            samples += 1
            if over():
                break
    gc.collect()
    return samples


def main():
    torch.set_num_threads(1)
    model, writer = LitISTEncoder(), ISTSegmentationWriter(Panel())
    loader = DataLoader(Tiles(), 1, collate_fn=first, num_workers=1, pin_memory=True, persistent_workers=True)
    done(model.gpu, predict(model, loader, writer))


if __name__ == "__main__":
    main()
