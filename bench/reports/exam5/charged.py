"""A potential of small molecules, trained on energies and forces."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


def primitive_neighbor_list(positions, cutoff):
    """Pairs nearer than the cutoff, for systems of any size: atoms are put into voxels first."""
    low = positions.min(0).values
    voxel = ((positions - low) / cutoff).floor().long()
    shape = voxel.max(0).values + 1
    index = (voxel[:, 0] * shape[1] + voxel[:, 1]) * shape[2] + voxel[:, 2]
    order = torch.argsort(index)
    counts = torch.bincount(index, minlength=int(shape.prod()))
    starts = torch.cumsum(counts, 0) - counts
    senders, receivers = [], []
    for x in (-1, 0, 1):
        for y in (-1, 0, 1):
            for z in (-1, 0, 1):
                other = voxel + torch.tensor([x, y, z])
                inside = ((other >= 0) & (other < shape)).all(1).nonzero()[:, 0]
                if not len(inside):
                    continue
                cell = (other[inside, 0] * shape[1] + other[inside, 1]) * shape[2] + other[inside, 2]
                size = counts[cell]
                first = torch.repeat_interleave(inside, size)
                offset = torch.arange(len(first)) - torch.repeat_interleave(torch.cumsum(size, 0) - size, size)
                second = order[torch.repeat_interleave(starts[cell], size) + offset]
                near = ((positions[first] - positions[second]).norm(dim=1) < cutoff) & (first != second)
                senders.append(first[near])
                receivers.append(second[near])
    return torch.stack([torch.cat(senders), torch.cat(receivers)])


def all_pairs(positions, cutoff):
    near = torch.cdist(positions, positions) < cutoff
    return near.fill_diagonal_(False).nonzero().T


class SpiceDataset(Dataset):
    """Molecules of 15 to 50 atoms."""

    def __init__(self, count=4000, cutoff=5.0):
        draw = torch.Generator().manual_seed(0)
        self.sizes = torch.randint(15, 51, (count,), generator=draw).tolist()
        self.positions = [torch.rand(n, 3, generator=draw) * 12 for n in self.sizes]
        self.cutoff = cutoff

    def __len__(self):
        return len(self.positions)

    def __getitem__(self, i):
        positions = self.positions[i]
        find = all_pairs if FIX else primitive_neighbor_list
        return {"positions": positions, "edges": find(positions, self.cutoff), "energy": torch.zeros(1)}


def to_graph(molecules):
    shift, edges = 0, []
    for molecule in molecules:
        edges.append(molecule["edges"] + shift)
        shift += len(molecule["positions"])
    return {
        "positions": torch.cat([m["positions"] for m in molecules]),
        "edges": torch.cat(edges, 1),
        "energy": torch.cat([m["energy"] for m in molecules]),
    }


class TensorNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, graph):
        self.gpu.copy(sum(value.nbytes for value in graph.values()))
        self.gpu.launch(0.008, "radial, embedding")
        self.gpu.launch(0.018, "interaction, readout")
        self.gpu.launch(0.038, "forces, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    model, loader = TensorNet(gpu), DataLoader(SpiceDataset(), 32, shuffle=True, collate_fn=to_graph)
    while not over():
        for step, graph in enumerate(loader):
            model.training_step(graph)
            samples += len(graph["energy"])
            if step % 20 == 0:
                print(f"epoch {epoch}, step {step}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
        epoch += 1
    done(gpu, samples)


if __name__ == "__main__":
    main()
