"""Zeros are made on the CPU and moved to the device in each layer (Lin-Yijie/Graph-Matching-Networks#5)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NODES, DIM, GRAPHS = 3000, 128, 40


class Pairs(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.rand(NODES // GRAPHS, 16)


def zeros(gpu, *shape):
    """Zeros on the device: torch.zeros(*shape).to(device), or torch.zeros(*shape, device=device)."""
    if FIX:
        gpu.launch(0.000004, "fill")
        return None
    tensor = torch.zeros(*shape)
    gpu.copy(tensor.nbytes)
    return tensor


def unsorted_segment_sum(gpu, data, num_segments):
    if FIX:
        width = data.shape[1]
    else:
        width = torch.prod(torch.tensor(data.shape[1:])).long()
        gpu.copy(width.nbytes)
    gpu.launch(0.00003, "repeat_interleave")
    zeros(gpu, num_segments, DIM)
    gpu.launch(0.00008, "scatter_add")
    return data[:, :1] * width


class GraphPropLayer(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu = gpu
        self.message_net, self.update_net = torch.nn.Linear(16, 16), torch.nn.GRUCell(16, 16)

    def forward(self, node_states):
        messages = self.message_net(node_states)
        self.gpu.launch(0.0003, "messages")
        unsorted_segment_sum(self.gpu, messages, NODES)
        reversed_messages = self.message_net(node_states.flip(0))
        self.gpu.launch(0.0003, "messages")
        unsorted_segment_sum(self.gpu, reversed_messages, NODES)
        for block in node_states.chunk(4):  # pairwise attention
            (block @ block.T).softmax(1)
            self.gpu.launch(0.00005, "attention")
            zeros(self.gpu, NODES // 4, DIM)
        state = self.update_net(messages + reversed_messages, node_states)
        self.gpu.launch(0.0002, "gru")
        return state


class GraphMatchingNet(torch.nn.Module):
    def __init__(self, gpu, layers=5):
        super().__init__()
        self.layers = torch.nn.ModuleList(GraphPropLayer(gpu) for _ in range(layers))

    def forward(self, node_states):
        for layer in self.layers:
            node_states = layer(node_states)
        return node_states


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(), 0
    model = GraphMatchingNet(gpu)
    loader = DataLoader(Pairs(), batch_size=GRAPHS, shuffle=True, num_workers=1, pin_memory=True)
    for step, nodes in enumerate(loader):
        gpu.copy(nodes.nbytes, pinned=True, non_blocking=True)
        model(nodes[0]).sum().backward()
        gpu.launch(0.004, "backward, step")
        model.zero_grad()
        samples += len(nodes)
        if step % 100 == 0:
            gpu.item()
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
