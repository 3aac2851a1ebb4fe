"""Workers are spawned again in each short epoch (boreshkinai/delta-interpolator#3)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class SequenceDataset(Dataset):
    """Windows of motion capture: positions and rotations of joints."""

    def __init__(self, frames, window=65):
        draw = numpy.random.default_rng(0)
        self.positions = draw.random((frames, 22, 3), numpy.float32)
        self.rotations = draw.random((frames, 22, 3, 3), numpy.float32)
        self.window = window

    def __len__(self):
        return (len(self.positions) - self.window) // 4

    def __getitem__(self, i):
        part = slice(4 * i, 4 * i + self.window)
        return {"joint_positions": self.positions[part], "joint_rotations": self.rotations[part]}


def mirror_and_rotate(batch):
    """Collate, with a turn about the vertical axis for each sequence."""
    positions = numpy.stack([sample["joint_positions"] for sample in batch])
    rotations = numpy.stack([sample["joint_rotations"] for sample in batch])
    angle = numpy.random.uniform(0, 2 * numpy.pi, len(batch))
    turn = numpy.zeros((len(batch), 3, 3), numpy.float32)
    turn[:, 0, 0] = turn[:, 2, 2] = numpy.cos(angle)
    turn[:, 0, 2], turn[:, 2, 0], turn[:, 1, 1] = numpy.sin(angle), -numpy.sin(angle), 1
    positions = numpy.einsum("bij,btkj->btki", turn, positions)
    rotations = numpy.einsum("bij,btkjl->btkil", turn, rotations)
    return torch.from_numpy(positions), torch.from_numpy(rotations)


class SequenceModule:
    """The data module: how the loaders are made."""

    def __init__(self, batch_size=64, num_workers=2):
        self.data, self.batch_size, self.num_workers = SequenceDataset(40_000), batch_size, num_workers

    def train_dataloader(self):
        return DataLoader(
            self.data,
            self.batch_size,
            shuffle=True,
            collate_fn=mirror_and_rotate,
            num_workers=self.num_workers,
            multiprocessing_context="spawn",  # as on Windows
            persistent_workers=FIX,
            pin_memory=FIX,
        )


class TransformerInterpolator:
    def __init__(self):
        self.gpu = Device(spin=False)

    def training_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch), pinned=FIX)
        self.gpu.launch(0.026, "encoder, decoder, losses, backward")
        return len(batch[0])


def fit(model, module):
    loader, samples, epoch = module.train_dataloader(), 0, 0
    while not over():
        for batch in loader:
            samples += model.training_step(batch)
            if over():
                break
        print(f"epoch {epoch}: loss {model.gpu.item():.3f}", flush=True)
        epoch += 1
    return samples


def main():
    torch.set_num_threads(1)
    model = TransformerInterpolator()
    done(model.gpu, fit(model, SequenceModule()))


if __name__ == "__main__":
    main()
