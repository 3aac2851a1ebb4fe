"""The subgraph around each link is cut out and labelled at each access (facebookresearch/SEAL_OGB#26)."""

import numpy
import scipy.sparse
import torch
from common import FIX, done, over
from scipy.sparse.csgraph import shortest_path
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NODES, LINKS = 4000, 480


def neighbors(fringe, A):
    return set(A[list(fringe)].indices)


def k_hop_subgraph(src, dst, num_hops, A):
    nodes = [src, dst]
    visited = fringe = {src, dst}
    for _ in range(num_hops):
        fringe = neighbors(fringe, A) - visited
        visited = visited | fringe
        nodes = nodes + list(fringe)
    subgraph = A[nodes, :][:, nodes].tolil()
    subgraph[0, 1] = 0
    subgraph[1, 0] = 0
    return nodes, subgraph.tocsr()


def drnl_node_labeling(adj):
    """Labels of nodes by their distances to both ends of the link."""
    without_src = [0, *range(2, adj.shape[0])]
    dist2src = shortest_path(adj[without_src, :][:, without_src], directed=False, unweighted=True, indices=0)
    dist2dst = shortest_path(adj[1:, :][:, 1:], directed=False, unweighted=True, indices=0)
    dist = numpy.nan_to_num(dist2src[1:] + dist2dst[1:], posinf=0)
    z = 1 + numpy.minimum(dist2src[1:], dist2dst[1:]) + dist // 2 * (dist // 2 + dist % 2 - 1)
    return torch.from_numpy(numpy.concatenate([[1, 1], numpy.nan_to_num(z, posinf=0)])).long()


def construct_graph(nodes, adj):
    edges = adj.tocoo()
    edge_index = torch.from_numpy(numpy.stack([edges.row, edges.col]).astype(numpy.int64))
    return edge_index, drnl_node_labeling(adj), torch.tensor(nodes)


class SEALDynamicDataset(Dataset):
    def __init__(self, A, links):
        self.A, self.links = A, links

    def __len__(self):
        return len(self.links)

    def __getitem__(self, idx):
        src, dst = self.links[idx]
        return construct_graph(*k_hop_subgraph(int(src), int(dst), 1, self.A))


class SEALDataset(Dataset):
    """All subgraphs, cut out once."""

    def __init__(self, A, links):
        dynamic = SEALDynamicDataset(A, links)
        self.data = [dynamic[n] for n in range(len(links))]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        return self.data[idx]


def collate(graphs):
    offsets = numpy.cumsum([0, *(len(z) for _, z, _ in graphs)])
    edge_index = torch.cat([edges + int(offset) for (edges, _, _), offset in zip(graphs, offsets, strict=False)], dim=1)
    return edge_index, torch.cat([z for _, z, _ in graphs])


def train(gpu, loader):
    total = 0
    for edge_index, z in loader:
        gpu.copy(edge_index.nbytes + z.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "DGCNN")
        gpu.item()
        total += loader.batch_size
        if over():
            break
    return total


def main():
    torch.set_num_threads(1)
    gpu, samples, draw = Device(spin=False), 0, numpy.random.default_rng(0)
    rows, columns = draw.integers(0, NODES, (2, NODES * 12))
    A = scipy.sparse.csr_matrix((numpy.ones(len(rows)), (rows, columns)), shape=(NODES, NODES))
    A = ((A + A.T) > 0).astype(float).tocsr()
    links = draw.integers(0, NODES, (LINKS, 2))
    data = SEALDataset(A, links) if FIX else SEALDynamicDataset(A, links)
    loader = DataLoader(
        data, batch_size=32, shuffle=True, num_workers=1, pin_memory=True, collate_fn=collate, persistent_workers=True,
    )
    while not over():
        samples += train(gpu, loader)
    done(gpu, samples)


if __name__ == "__main__":
    main()
