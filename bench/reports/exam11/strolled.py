"""A network predicts pedestrians' paths from their past and their neighbours'."""

# https://github.com/abduallahmohamed/Social-STGCNN/issues/11

import math
import pickle
import tempfile
from pathlib import Path

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

OBSERVED, PREDICTED, BATCH = 8, 12, 16
SEQUENCE = OBSERVED + PREDICTED


def write_scene(path, frames=1000, walkers=40):
    """Frame, walker, and where: a line each, as the cameras of a square wrote them."""
    draw = numpy.random.default_rng(0)
    places = draw.uniform(0, 15, (walkers, 2)) + numpy.cumsum(draw.normal(0, 0.2, (frames, walkers, 2)), 0)
    lines = [f"{10 * f}\t{w}\t{x:.3f}\t{y:.3f}" for f, row in enumerate(places) for w, (x, y) in enumerate(row)]
    Path(path).write_text("\n".join(lines))


def anorm(p1, p2):
    norm = math.sqrt((p1[0] - p2[0]) ** 2 + (p1[1] - p2[1]) ** 2)
    return 0 if norm == 0 else 1 / norm


def seq_to_graph(positions, steps):
    walkers, length, _ = steps.shape
    adjacency = numpy.zeros((length, walkers, walkers), numpy.float32)
    for s in range(length):
        rows = steps[:, s].tolist()
        for h in range(walkers):
            adjacency[s, h, h] = 1
            for k in range(h + 1, walkers):
                adjacency[s, h, k] = adjacency[s, k, h] = anorm(rows[h], rows[k])
    return steps.transpose(1, 0, 2).astype(numpy.float32), adjacency


class TrajectoryDataset(Dataset):
    def __init__(self, folder):
        path, prepared = Path(folder) / "scene.txt", Path(folder) / "processed.pkl"
        if FIX and prepared.exists():
            self.graphs = pickle.loads(prepared.read_bytes())
        else:
            self.graphs = self.read_scenes(path)

    @staticmethod
    def read_scenes(path):
        rows = numpy.array([[float(v) for v in line.split("\t")] for line in path.read_text().splitlines()])
        frames = numpy.unique(rows[:, 0])
        graphs = []
        for start in range(len(frames) - SEQUENCE):
            window = rows[(rows[:, 0] >= frames[start]) & (rows[:, 0] < frames[start + SEQUENCE])]
            walkers = numpy.unique(window[:, 1])
            positions = numpy.stack([window[window[:, 1] == w][:, 2:] for w in walkers])
            steps = numpy.diff(positions, axis=1, prepend=positions[:, :1])
            observed = seq_to_graph(positions[:, :OBSERVED], steps[:, :OBSERVED])
            graphs.append(observed + seq_to_graph(positions[:, OBSERVED:], steps[:, OBSERVED:]))
        return graphs

    def __len__(self):
        return 10 * len(self.graphs)

    def __getitem__(self, i):
        return tuple(torch.from_numpy(part) for part in self.graphs[i % len(self.graphs)])


class SocialSTGCNN:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, parts):
        self.gpu.copy(sum(part.nbytes for part in parts), pinned=True, non_blocking=True)
        self.gpu.launch(0.009, "graph convolutions, txp-cnn")
        self.gpu.launch(0.014, "bivariate loss, backward, sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        write_scene(f"{folder}/scene.txt")
        if FIX:
            (Path(folder) / "processed.pkl").write_bytes(pickle.dumps(TrajectoryDataset.read_scenes(Path(folder) / "scene.txt")))
        over()
        dataset = TrajectoryDataset(folder)
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        model = SocialSTGCNN(gpu)
        while not over():
            for parts in loader:
                model.step(parts)
                samples += len(parts[0])
                if over():
                    break
            epoch += 1
            print(f"TRAIN: Epoch: {epoch} Loss: {gpu.item():.4f}", flush=True)
        done(gpu, samples)


if __name__ == "__main__":
    main()
