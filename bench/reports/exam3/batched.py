"""Small graphs become a batch in a Python loop over each tensor of each graph (pyg-team/pytorch_geometric#572)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader


class Data:
    """A graph: features of its nodes, its edges and their features, and a label."""

    def __init__(self, **tensors):
        self.__dict__.update(tensors)

    @property
    def keys(self):
        return sorted(self.__dict__)

    @property
    def num_nodes(self):
        return self.x.size(0)

    def __inc__(self, key):
        return self.num_nodes if key == "edge_index" else 0

    def __cat_dim__(self, key):
        return -1 if key == "edge_index" else 0


def make_graphs(count=4000):
    draw, graphs, label = random.Random(0), [], torch.zeros(1)
    for _ in range(count):
        nodes = draw.randint(15, 25)
        edges = torch.randint(0, nodes, (2, 2 * nodes))
        graphs.append(Data(x=torch.zeros(nodes, 7), edge_index=edges, edge_attr=torch.zeros(len(edges[0]), 4), y=label))
    return graphs


def from_data_list(graphs):
    keys = graphs[0].keys
    batch = {key: [] for key in keys} | {"batch": []}
    cumsum = dict.fromkeys(keys, 0)
    for i, data in enumerate(graphs):
        for key in keys:
            item = getattr(data, key)
            if torch.is_tensor(item) and item.dtype != torch.bool:
                item = item + cumsum[key]
            if torch.is_tensor(item) and item.dim() == 0:
                item = item.unsqueeze(0)
            cumsum[key] += data.__inc__(key)
            batch[key].append(item)
        batch["batch"].append(torch.full((data.num_nodes,), i, dtype=torch.long))
    joined = {key: torch.cat(items, dim=graphs[0].__cat_dim__(key)) for key, items in batch.items()}
    return {key: item.contiguous() for key, item in joined.items()}


def from_data_list_at_once(graphs):
    joined = {k: torch.cat([getattr(data, k) for data in graphs], graphs[0].__cat_dim__(k)) for k in graphs[0].keys}
    nodes = torch.tensor([len(data.x) for data in graphs])
    edges = torch.tensor([len(data.edge_attr) for data in graphs])
    joined["edge_index"] += torch.repeat_interleave(nodes.cumsum(0) - nodes, edges)
    joined["batch"] = torch.repeat_interleave(torch.arange(len(graphs)), nodes)
    return joined


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(), 0
    collate = from_data_list_at_once if FIX else from_data_list
    loader = DataLoader(
        make_graphs(), batch_size=512, shuffle=True, num_workers=1, collate_fn=collate, pin_memory=True,
        persistent_workers=True,
    )
    while not over():
        for batch in loader:
            gpu.copy(sum(part.nbytes for part in batch.values()), pinned=True, non_blocking=True)
            gpu.launch(0.005, "step")
            samples += len(batch["y"])
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
