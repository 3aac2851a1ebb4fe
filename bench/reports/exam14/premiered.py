"""Films are retrieved for people: two towers are trained on who watched what."""

# https://github.com/tensorflow/recommenders/issues/178

import torch
from common import FIX, done, over
from stoker.emulated import Device

FILMS, DIMENSIONS, BATCH, KS, LOG_EVERY = 6000, 32, 192, (1, 5, 10, 50, 100), 50


class FactorizedTopK:
    """How often the film that was watched is among the best of all films."""

    def __init__(self, candidates):
        self.candidates, self.hits, self.count = candidates, dict.fromkeys(KS, 0), 0

    def update_state(self, queries, watched):
        best = torch.topk(queries @ self.candidates.T, max(KS)).indices
        found = best == watched[:, None]
        for k in KS:
            self.hits[k] += int(found[:, :k].sum())
        self.count += len(queries)

    def result(self):
        return {f"factorized_top_k/top_{k}": hits / max(self.count, 1) for k, hits in self.hits.items()}


class Retrieval:
    def __init__(self, metrics):
        self.metrics = metrics

    def __call__(self, queries, watched, compute_metrics=True):
        if compute_metrics:
            self.metrics.update_state(queries, watched)


class MovieLensModel:
    def __init__(self, gpu):
        self.gpu = gpu
        self.people, self.films = torch.randn(2048, DIMENSIONS), torch.randn(FILMS, DIMENSIONS)
        self.task = Retrieval(FactorizedTopK(self.films))

    def train_step(self, people, watched):
        self.gpu.copy(people.nbytes + watched.nbytes)
        self.gpu.launch(0.0016, "towers, softmax over the batch")
        self.gpu.launch(0.0037, "backward, adagrad")
        self.task(self.people[people], watched, compute_metrics=not FIX)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=5 << 30), 0, 0
    model = MovieLensModel(gpu)
    people, films = torch.randint(0, 2048, (40_000,)), torch.randint(0, FILMS, (40_000,))
    while not over():
        start = step * BATCH % (len(people) - BATCH)
        model.train_step(people[start : start + BATCH], films[start : start + BATCH])
        step, samples = step + 1, samples + BATCH
        if step % LOG_EVERY == 0:
            top = model.task.metrics.result()["factorized_top_k/top_100"]
            print(f"{step} - factorized_top_k/top_100: {top:.4f} - total_loss: {gpu.item():.3f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
