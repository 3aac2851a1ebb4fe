"""Which artists somebody will like next is learned by factors of users and items, fitted on the device in turn."""

# https://github.com/benfred/implicit/pull/520
# Cause: the evaluation after each iteration asks the model for recommendations user by user: a row of a sparse matrix, a copy
#        and some small kernels for each.
# Fix: ask for groups of 1,000 users: over 50 times as fast on the GPU.
# Line: 29, 31 to 34, 48 to 49, 68: model.recommend in ranking_metrics_at_k.

import numpy
import scipy.sparse
import torch
from common import FIX, done, over
from stoker.emulated import Device

USERS, ITEMS, K, TEST, GROUP = 12_000, 20_000, 10, 1500, 1000


class AlternatingLeastSquares:
    def __init__(self, gpu):
        self.gpu, self.draw = gpu, numpy.random.default_rng(1)

    def fit_iteration(self):
        for side in ("users", "items"):
            self.gpu.launch(0.03, f"gramian of {side}")
            for step in range(3):
                self.gpu.launch(0.085, f"least squares of {side}, {step}")

    def recommend(self, userids, liked):
        self.gpu.copy(liked.indices.nbytes + liked.indptr.nbytes)
        users = 1 if numpy.isscalar(userids) else len(userids)
        self.gpu.launch(0.000022 + 0.0000006 * users, "gather, matmul")
        self.gpu.launch(0.000012 + 0.0000004 * users, "mask liked")
        self.gpu.launch(0.00002 + 0.000001 * users, "top k")
        self.gpu.item()
        return self.draw.integers(0, ITEMS, (users, K))


def ranking_metrics_at_k(model, train_user_items, test_user_items):
    relevant = hits = 0
    if FIX:
        for start in range(0, TEST, GROUP):
            users = numpy.arange(start, min(start + GROUP, TEST))
            found = model.recommend(users, train_user_items[users])
            for user, ids in zip(users, found, strict=True):
                liked = set(test_user_items.indices[test_user_items.indptr[user] : test_user_items.indptr[user + 1]].tolist())
                hits, relevant = hits + len(liked.intersection(ids.tolist())), relevant + min(K, len(liked))
        return hits / relevant
    for user in range(TEST):
        ids = model.recommend(user, train_user_items[user])[0]
        liked = set(test_user_items.indices[test_user_items.indptr[user] : test_user_items.indptr[user + 1]].tolist())
        hits, relevant = hits + len(liked.intersection(ids.tolist())), relevant + min(K, len(liked))
    return hits / relevant


def main():
    torch.set_num_threads(1)
    gpu, samples, iteration = Device(spin=False, memory_used=1 << 30), 0, 0
    draw, matrices = numpy.random.default_rng(0), []
    for count in (600_000, 90_000):
        rows, columns = draw.integers(0, USERS, count), draw.zipf(1.3, count) % ITEMS
        matrices.append(scipy.sparse.csr_matrix((numpy.ones(count, numpy.float32), (rows, columns)), (USERS, ITEMS)))
    train, test = matrices
    model = AlternatingLeastSquares(gpu)
    while not over():
        model.fit_iteration()
        gpu.item()
        iteration, samples = iteration + 1, samples + train.nnz
        print(f"iteration {iteration}: precision at {K} {ranking_metrics_at_k(model, train, test):.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
