"""Recommendation on a graph of users and items: two views of it, without some of its edges, are held against each other."""

# https://github.com/wujcan/SGL-TensorFlow/issues/14
# Cause: the sub-graphs are made on the CPU, and fed to the device for each layer in each batch, though all layers have the same.
# Fix: make and feed only the first layer's adjacency matrix.
# Line: 35 to 43, 45 to 47, 49 to 64, 67, 76, 78: SGL.feed and the copy in SGL.run; make_sub_graphs at the start of an epoch.

import numpy
import scipy.sparse
from common import FIX, done, over
from stoker.emulated import Device

USERS, ITEMS, EDGES, LAYERS, BATCH, BATCHES = 20_000, 15_000, 600_000, 3, 2048, 24


class Interactions:
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.users, self.items = draw.integers(0, USERS, EDGES), draw.zipf(1.3, EDGES) % ITEMS
        self.draw = draw

    def batches(self):
        """Pairs of what was chosen and what was not."""
        order = self.draw.permutation(EDGES)[: BATCH * BATCHES]
        for chosen in order.reshape(BATCHES, BATCH):
            yield numpy.stack([self.users[chosen], self.items[chosen], self.draw.integers(0, ITEMS, BATCH)])


class SGL:
    """aug_type "ed": some edges are dropped, the same in each layer."""

    def __init__(self, gpu, data, ssl_ratio=0.1):
        self.gpu, self.data, self.ssl_ratio = gpu, data, ssl_ratio

    def create_adj_mat(self):
        kept = self.data.draw.choice(EDGES, int(EDGES * (1 - self.ssl_ratio)), replace=False)
        users, items = self.data.users[kept], self.data.items[kept]
        ones, size = numpy.ones(len(kept), numpy.float32), USERS + ITEMS
        half = scipy.sparse.csr_matrix((ones, (users, items + USERS)), (size, size))
        adjacency = half + half.T
        degrees = numpy.asarray(adjacency.sum(1)).ravel()
        inverse = scipy.sparse.diags(numpy.where(degrees > 0, numpy.maximum(degrees, 1) ** -0.5, 0))
        return inverse.dot(adjacency).dot(inverse).tocsr()

    def _convert_csr_to_sparse_tensor_inputs(self, matrix):
        coo = matrix.tocoo()
        return numpy.stack([coo.row, coo.col], 1).astype(numpy.int64), coo.data, coo.shape

    def make_sub_graphs(self):
        """Of each view a matrix for each layer: indices, values, shape."""
        views = {}
        for view in (1, 2):
            matrix = self.create_adj_mat()
            for k in range(1, (1 if FIX else LAYERS) + 1):
                views[f"sub_mat{view}_layer{k}"] = self._convert_csr_to_sparse_tensor_inputs(matrix)
        return views

    def feed(self, batch, views):
        """What a session feeds: arrays of the host."""
        fed = {"batch": batch}
        for name, (indices, values, _) in views.items():
            fed[f"adj_indices_{name}"] = numpy.array(indices)
            fed[f"adj_values_{name}"] = numpy.array(values)
        return fed

    def run(self, fed):
        self.gpu.copy(sum(array.nbytes for array in fed.values()))
        for view in ("graph", "view 1", "view 2"):
            for k in range(LAYERS):
                self.gpu.launch(0.0006, f"sparse product {k}, {view}")
        self.gpu.launch(0.0012, "bpr, info nce")
        self.gpu.launch(0.0044, "backward, adam")
        return self.gpu.item()

    def train_model(self, epoch):
        views, total, samples = self.make_sub_graphs(), 0.0, 0
        for batch in self.data.batches():
            total += self.run(self.feed(batch, views))
            samples += BATCH
            if over():
                break
        print(f"[iter {epoch} : loss : {total / BATCHES:.4f}]", flush=True)
        return samples


def main():
    gpu, samples, epoch = Device(spin=False), 0, 0
    model = SGL(gpu, Interactions())
    while not over():
        epoch += 1
        samples += model.train_model(epoch)
    done(gpu, samples)


if __name__ == "__main__":
    main()
