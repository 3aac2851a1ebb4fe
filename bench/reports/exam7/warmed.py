"""Tables of embeddings whose update is compiled, while the learning rate is raised little by little."""

# https://github.com/pytorch/FBGEMM/pull/3287
# Cause: the learning rate is a float to the compiled update; its guard fails each time that the rate changes, which in
#        the warm-up is each step, and the update is compiled again.
# Fix: make the learning rate a tensor.
# Line: 57, self.learning_rate in TableBatchedEmbedding.update (compiled at 36).

import torch
import torch._dynamo
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

torch._dynamo.config.recompile_limit = 100_000
torch._dynamo.config.accumulated_recompile_limit = 1_000_000


class Clicks(Dataset):
    def __len__(self):
        return 40_000

    def __getitem__(self, i):
        return torch.arange(i, i + 26) * 7919 % 500, float(i % 5 == 0)


def rowwise_adagrad(weights, momentum, gradient, learning_rate, eps):
    momentum = momentum + gradient.pow(2).mean(1)
    step = learning_rate / (momentum.sqrt() + eps)
    return weights - step[:, None] * gradient, momentum


class TableBatchedEmbedding:
    def __init__(self, gpu, rows=500, width=16):
        self.gpu, self.weights, self.momentum = gpu, torch.rand(rows, width), torch.zeros(rows)
        self.compiled = torch.compile(rowwise_adagrad, backend="eager", dynamic=False)
        self.set_learning_rate(0.0)

    def set_learning_rate(self, value):
        if FIX:
            self.learning_rate = torch.tensor(value)
        else:
            self.learning_rate = value

    def forward(self, indices):
        self.gpu.copy(indices.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0011, "split embedding forward")
        self.seen = indices.reshape(-1)
        return self.weights[self.seen].view(*indices.shape, -1).sum(1)

    def update(self, pooled):
        gradient = torch.zeros_like(self.weights)
        gradient.index_add_(0, self.seen, pooled.repeat_interleave(26, 0) * 1e-3)
        self.gpu.launch(0.0024, "split embedding backward")
        with torch.no_grad():
            self.weights, self.momentum = self.compiled(
                self.weights, self.momentum, gradient, self.learning_rate, 1e-8
            )
        self.gpu.launch(0.0002, "rowwise adagrad")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    tables = TableBatchedEmbedding(gpu)
    loader = DataLoader(Clicks(), 64, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for indices, clicks in loader:
            step += 1
            tables.set_learning_rate(0.02 * min(1.0, step / 10_000))
            pooled = tables.forward(indices)
            gpu.launch(0.003, "dense layers")
            gpu.launch(0.006, "backward of dense layers")
            tables.update(pooled)
            samples += len(clicks)
            if step % 50 == 0:
                print(f"step {step}: ne {gpu.item():.4f}, lr {float(tables.learning_rate):.6f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
