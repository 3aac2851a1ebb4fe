"""A detector of people in crowds: each query is matched with one person."""

import numpy
import torch
from common import FIX, done, over
from scipy.optimize import linear_sum_assignment
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Munkres:
    """The steps of the assignment method, on one matrix of costs."""

    def __init__(self, cost):
        self.C = cost.copy()
        n, m = cost.shape
        self.row_free, self.column_free = numpy.ones(n, bool), numpy.ones(m, bool)
        self.marked, self.path, self.z0 = numpy.zeros((n, m), int), numpy.zeros((n + m, 2), int), (0, 0)

    def clear(self):
        self.row_free[:] = True
        self.column_free[:] = True

    def start(self):
        self.C -= self.C.min(axis=1)[:, None]
        for i, j in zip(*numpy.where(self.C == 0), strict=True):
            if self.column_free[j] and self.row_free[i]:
                self.marked[i, j] = 1
                self.column_free[j] = self.row_free[i] = False
        self.clear()
        return self.cover

    def cover(self):
        self.column_free[(self.marked == 1).any(axis=0)] = False
        return self.prime if (self.marked == 1).sum() < self.C.shape[0] else None

    def prime(self):
        zero = (self.C == 0).astype(int)
        covered = zero * self.row_free[:, None] * self.column_free
        while True:
            row, column = numpy.unravel_index(covered.argmax(), covered.shape)
            if covered[row, column] == 0:
                return self.adjust
            self.marked[row, column] = 2
            star = (self.marked[row] == 1).argmax()
            if self.marked[row, star] != 1:
                self.z0 = row, column
                return self.augment
            self.row_free[row], self.column_free[star] = False, True
            covered[:, star] = zero[:, star] * self.row_free
            covered[row] = 0

    def augment(self):
        count, path = 0, self.path
        path[0] = self.z0
        while True:
            row = (self.marked[:, path[count, 1]] == 1).argmax()
            if self.marked[row, path[count, 1]] != 1:
                break
            count += 1
            path[count] = row, path[count - 1, 1]
            count += 1
            path[count] = row, (self.marked[row] == 2).argmax()
        for i, j in path[: count + 1]:
            self.marked[i, j] = 0 if self.marked[i, j] == 1 else 1
        self.clear()
        self.marked[self.marked == 2] = 0
        return self.cover

    def adjust(self):
        smallest = self.C[self.row_free][:, self.column_free].min()
        self.C[~self.row_free] += smallest
        self.C[:, self.column_free] -= smallest
        return self.prime

    def solve(self):
        step = self.start
        while step:
            step = step()
        return numpy.where(self.marked == 1)


class CrowdHuman(Dataset):
    def __init__(self, count=800):
        draw = torch.Generator().manual_seed(0)
        self.people = [torch.rand(n, 4, generator=draw) for n in torch.randint(30, 70, (count,), generator=draw).tolist()]

    def __len__(self):
        return len(self.people)

    def __getitem__(self, i):
        return torch.zeros(3, 200, 300, dtype=torch.uint8), self.people[i]


def collate(batch):
    return torch.stack([image for image, _ in batch]), [people for _, people in batch]


class Criterion:
    def __init__(self, gpu, stages=3, queries=120):
        self.gpu, self.stages, self.queries = gpu, stages, queries

    @torch.no_grad()
    def match(self, boxes, people):
        cost = torch.cdist(people, boxes, p=1).numpy().astype(numpy.float64)
        if FIX:
            return linear_sum_assignment(cost)
        return Munkres(cost).solve()

    def __call__(self, targets):
        matched = 0
        for stage in range(self.stages):
            self.gpu.launch(0.0005, "cost")
            self.gpu.item()  # costs come to the host
            for people in targets:
                boxes = torch.rand(self.queries, 4)
                matched += len(self.match(boxes, people)[0])
            self.gpu.launch(0.0006, f"losses of stage {stage}")
        return matched


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    criterion = Criterion(gpu)
    loader = DataLoader(CrowdHuman(), 4, shuffle=True, num_workers=1, pin_memory=True, collate_fn=collate, persistent_workers=True)
    while not over():
        for images, people in loader:
            gpu.copy(images.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.022, "backbone, decoder")
            matched = criterion(people)
            gpu.launch(0.038, "backward, adamw")
            step, samples = step + 1, samples + len(images)
            if step % 20 == 0:
                print(f"step {step}: {matched} matched, loss {gpu.item():.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
