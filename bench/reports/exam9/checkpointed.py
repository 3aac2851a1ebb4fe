"""A vision-language-action policy is tuned on episodes of a robot arm."""

# https://github.com/Physical-Intelligence/openpi/issues/441
# Cause: training waits whenever a checkpoint is written: the whole state, averages and moments too, every save_interval steps.
# Fix: a larger save_interval.
# Line: 64 to 74, 92: manager.save_state in main, torch.save in CheckpointManager.save_state.

import dataclasses
import shutil
import tempfile
from pathlib import Path

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


@dataclasses.dataclass
class TrainConfig:
    checkpoint_dir: Path
    batch_size: int = 16
    action_horizon: int = 50
    save_interval: int = 400 if FIX else 20
    log_interval: int = 100


class LiberoDataset(Dataset):
    """Two cameras, the state of the arm, and what it did next."""

    def __init__(self, config, count=4000):
        self.config, self.count = config, count
        self.states = numpy.random.default_rng(0).normal(size=(count, 8)).astype(numpy.float32)
        self.cameras = torch.zeros(2, 64, 64, 3, dtype=torch.uint8)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        future = (i + numpy.arange(self.config.action_horizon)) % self.count
        return self.cameras, torch.from_numpy(self.states[i]), torch.from_numpy(self.states[future, :7])


class TrainState:
    """Parameters, their averages, and the optimizer's two moments."""

    def __init__(self, gpu, size=8_000_000):
        self.gpu, self.step = gpu, 0
        self.tree = {name: torch.zeros(size) for name in ("params", "ema_params", "mu", "nu")}

    def train_step(self, cameras, state, actions):
        self.gpu.copy(cameras.nbytes + state.nbytes + actions.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.007, "siglip, gemma")
        self.gpu.launch(0.004, "action expert")
        self.gpu.launch(0.015, "flow matching loss, backward, adamw")
        self.step += 1


class CheckpointManager:
    def __init__(self, config):
        self.config, self.kept = config, []

    def save_state(self, state):
        state.gpu.item()  # the device's copy of the state comes to the host when its last step is done
        folder = self.config.checkpoint_dir / str(state.step)
        (folder / "assets").mkdir(parents=True)
        for name in ("params", "train_state"):
            leaves = state.tree if name == "train_state" else {"params": state.tree["ema_params"]}
            torch.save({leaf: tensor.clone() for leaf, tensor in leaves.items()}, folder / name)
        numpy.savez(folder / "assets" / "norm_stats.npz", mean=numpy.zeros(8), std=numpy.ones(8))
        self.kept.append(folder)
        while len(self.kept) > 1:
            shutil.rmtree(self.kept.pop(0))


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        config, gpu, samples = TrainConfig(Path(folder)), Device(spin=False), 0
        state, manager = TrainState(gpu), CheckpointManager(config)
        loader = DataLoader(
            LiberoDataset(config), config.batch_size, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True
        )
        while not over():
            for batch in loader:
                state.train_step(*batch)
                samples += config.batch_size
                if state.step % config.log_interval == 0:
                    print(f"Step {state.step}: grad_norm=0.2312, loss={gpu.item():.4f}", flush=True)
                if state.step % config.save_interval == 0:
                    manager.save_state(state)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
