"""Energies and forces of the frames of a trajectory of water and ice."""

import numpy
import torch
from common import FIX, done, over
from scipy.spatial import cKDTree
from stoker.emulated import Device

CUTOFF = 6.0


def neighbour_list(positions, cell, cutoff):
    """Pairs across periodic boundaries, with the shift of the second atom."""
    lengths = numpy.diag(cell)
    wrapped = positions % lengths
    images, owners, shifts = [wrapped], [numpy.arange(len(wrapped))], [numpy.zeros((len(wrapped), 3))]
    for shift in numpy.ndindex(3, 3, 3):
        offset = numpy.array(shift) - 1.0
        if offset.any():
            moved = wrapped + offset * lengths
            keep = ((moved > -cutoff) & (moved < lengths + cutoff)).all(1)
            images.append(moved[keep])
            owners.append(keep.nonzero()[0])
            shifts.append(numpy.repeat(offset[None], keep.sum(), 0))
    images, owners, shifts = map(numpy.concatenate, (images, owners, shifts))
    pairs = cKDTree(wrapped).sparse_distance_matrix(cKDTree(images), cutoff, output_type="ndarray")
    pairs = pairs[pairs["v"] > 0]
    return pairs["i"], owners[pairs["j"]], shifts[pairs["j"]]


class AtomicData:
    def __init__(self, positions, cell, edge_index, shifts):
        self.positions, self.cell, self.edge_index, self.shifts = positions, cell, edge_index, shifts

    @classmethod
    def from_frame(cls, positions, cell, gpu):
        if FIX:
            gpu.copy(positions.nbytes + cell.nbytes)
            for name in ("wrap", "images", "distances", "compare", "nonzero", "shifts"):
                gpu.launch(0.0006, name)
            gpu.item()  # how many edges there are
            return cls(torch.from_numpy(positions), torch.from_numpy(cell), None, None)
        sender, receiver, shifts = neighbour_list(positions, cell, CUTOFF)
        edge_index = torch.from_numpy(numpy.stack([sender, receiver]))
        data = cls(torch.from_numpy(positions), torch.from_numpy(cell), edge_index, torch.from_numpy(shifts))
        gpu.copy(sum(value.nbytes for value in (data.positions, data.cell, data.edge_index, data.shifts)))
        return data


class MACE:
    """An equivariant network of two layers."""

    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, data):
        self.gpu.launch(0.002, "edge features")
        for layer in range(2):
            self.gpu.launch(0.003, f"interaction {layer}")
            self.gpu.launch(0.002, f"product {layer}")
        self.gpu.launch(0.006, "forces")
        return {"energy": self.gpu.item(), "forces": torch.zeros_like(data.positions)}


def frames(molecules=360, seed=0):
    """Positions as molecular dynamics gives them, without an end."""
    draw = numpy.random.default_rng(seed)
    side = (molecules * 29.9) ** (1 / 3)
    positions, cell = draw.random((3 * molecules, 3)) * side, numpy.eye(3) * side
    while True:
        positions = positions + draw.normal(0, 0.01, positions.shape)
        yield positions, cell


def evaluate(gpu, trajectory):
    model, energies, forces = MACE(gpu), [], 0.0
    for positions, cell in trajectory:
        if over():
            break
        out = model(AtomicData.from_frame(positions, cell, gpu))
        energies.append(out["energy"])
        forces = max(forces, float(out["forces"].abs().max()))
        if len(energies) % 50 == 0:
            print(f"{len(energies)} frames, largest force {forces:.3f}", flush=True)
    return len(energies)


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    done(gpu, evaluate(gpu, frames()))


if __name__ == "__main__":
    main()
