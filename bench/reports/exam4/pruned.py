"""Trees are pruned by reading positions one by one from tensors on the device (qipeng/gcn-over-pruned-trees#11)."""

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, MAX_LEN = 50, 40


class Cuda:
    """A tensor on the device: reading an element of it takes a kernel and a copy back."""

    def __init__(self, gpu, values):
        self.gpu, self.values = gpu, values

    def __getitem__(self, key):
        return Cuda(self.gpu, self.values[key])

    def __eq__(self, other):
        self.gpu.launch(0.000003, "eq")
        return Cuda(self.gpu, self.values == other)

    def __bool__(self):
        self.gpu.launch(0.000002, "Memcpy DtoH")
        self.gpu.item()
        return bool(self.values)

    def tolist(self):
        self.gpu.launch(0.000002, "Memcpy DtoH")
        self.gpu.item()
        return self.values.tolist()

    def cpu(self):
        self.gpu.launch(0.000004, "Memcpy DtoH")
        self.gpu.item()
        return self.values


class Tree:
    def __init__(self, idx, dist):
        self.idx, self.dist, self.children = idx, dist, []

    def depth_first(self):
        yield self
        for child in self.children:
            yield from child.depth_first()


def head_to_tree(head, length, prune, subj_pos, obj_pos):
    """The part of a dependency tree near the path between two words."""
    head = head[:length].tolist()
    subj = [i for i in range(length) if subj_pos[i] == 0]
    obj = [i for i in range(length) if obj_pos[i] == 0]
    path = set(subj) | set(obj)
    for start in subj + obj:
        h = head[start]
        while h > 0:
            path.add(h - 1)
            h = head[h - 1]
    dist = []
    for i in range(length):
        steps, j = 0, i
        while j not in path and head[j] > 0 and steps <= prune:
            steps, j = steps + 1, head[j] - 1
        dist.append(steps)
    nodes = [Tree(i, dist[i]) for i in range(length)]
    for i, h in enumerate(head):
        if h > 0 and dist[i] <= prune:
            nodes[h - 1].children.append(nodes[i])
    return nodes[head.index(0)]


def tree_to_adj(size, tree):
    matrix = numpy.zeros((size, size), dtype=numpy.float32)
    for node in tree.depth_first():
        for child in node.children:
            matrix[node.idx, child.idx] = matrix[child.idx, node.idx] = 1
    return matrix


class DataLoader:
    """Batches of sentences, made beforehand."""

    def __init__(self, seed=0):
        draw = random.Random(seed)
        self.batches = [self.make(draw) for _ in range(40)]

    def make(self, draw):
        lengths = [draw.randrange(20, MAX_LEN + 1) for _ in range(BATCH)]
        head, subj, obj = (numpy.ones((BATCH, MAX_LEN), numpy.int64) for _ in range(3))
        for n, length in enumerate(lengths):
            head[n, 0] = 0
            for i in range(1, length):
                head[n, i] = draw.randrange(i) + 1
            subj[n, draw.randrange(length)] = 0
            obj[n, draw.randrange(length)] = 0
        return lengths, head, subj, obj


class GCNRelationModel:
    def __init__(self, gpu, prune_k=1):
        self.gpu, self.prune_k = gpu, prune_k

    def inputs_to_tree_reps(self, head, lengths, subj_pos, obj_pos):
        if FIX:
            head, subj_pos, obj_pos = head.cpu(), subj_pos.cpu(), obj_pos.cpu()
        trees = [head_to_tree(head[i], n, self.prune_k, subj_pos[i], obj_pos[i]) for i, n in enumerate(lengths)]
        adj = numpy.stack([tree_to_adj(MAX_LEN, tree) for tree in trees])
        return torch.from_numpy(adj)

    def forward(self, inputs):
        lengths, head, subj_pos, obj_pos = inputs
        adj = self.inputs_to_tree_reps(head, lengths, subj_pos, obj_pos)
        self.gpu.copy(adj.nbytes)
        self.gpu.launch(0.008, "lstm, gcn, pool")


class Trainer:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.model = GCNRelationModel(self.gpu)

    def update(self, batch):
        lengths, *arrays = batch
        self.gpu.copy(sum(a.nbytes for a in arrays))
        self.model.forward((lengths, *(Cuda(self.gpu, a) for a in arrays)))
        self.gpu.launch(0.014, "backward, sgd")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    trainer, data, samples = Trainer(), DataLoader(), 0
    while not over():
        for batch in data.batches:
            trainer.update(batch)
            samples += len(batch[0])
            if over():
                break
    done(trainer.gpu, samples)


if __name__ == "__main__":
    main()
