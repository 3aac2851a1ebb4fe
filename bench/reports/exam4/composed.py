"""A logger searches the run's folder and hands its files on after each batch (mosaicml/composer#80)."""

import hashlib
import json
import os
import shutil
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        return torch.zeros(3, 128, 128), i % 1000


class Run:
    """The client of a service for experiments: files are copied aside and uploaded later."""

    def __init__(self, staging):
        self.staging, self.logged = staging, {}

    def log(self, metrics, step):
        with open(os.path.join(self.staging, "history.jsonl"), "a") as file:
            file.write(json.dumps(metrics | {"_step": step}) + "\n")

    def log_artifact(self, path, name):
        digest = hashlib.md5()
        with open(path, "rb") as file:
            for piece in iter(lambda: file.read(1 << 16), b""):
                digest.update(piece)
        if self.logged.get(name) != digest.hexdigest():
            self.logged[name] = digest.hexdigest()
            shutil.copyfile(path, os.path.join(self.staging, name.replace("/", "_")))


class WandBLogger:
    def __init__(self, run, run_directory, log_artifacts_every_n_batches):
        self.run, self.run_directory, self.every = run, run_directory, log_artifacts_every_n_batches

    def batch_end(self, state):
        self.run.log({"loss/train": state.loss}, state.step)
        if (state.step + 1) % self.every == 0:
            self.log_artifacts()

    def epoch_end(self, state):
        self.log_artifacts()

    def log_artifacts(self):
        for folder, _, names in os.walk(self.run_directory):
            for name in names:
                path = os.path.join(folder, name)
                self.run.log_artifact(path, os.path.relpath(path, self.run_directory))


class FileLogger:
    """Writes what happened to a file in the run's folder."""

    def __init__(self, run_directory):
        self.file = open(os.path.join(run_directory, "log.txt"), "w")  # noqa: SIM115

    def batch_end(self, state):
        self.file.write(f"[BATCH][step={state.step}]: {json.dumps({'loss': state.loss, 'lr': 0.1, 'samples': state.samples})}\n")
        self.file.flush()

    def epoch_end(self, state):
        self.file.flush()


class State:
    step, epoch, samples, loss = 0, 0, 0, 0.0


class Trainer:
    def __init__(self, gpu, loader, loggers, run_directory):
        self.gpu, self.loader, self.loggers, self.folder, self.state = gpu, loader, loggers, run_directory, State()

    def save_checkpoint(self):
        state = {f"layer{n}": torch.full((100_000,), float(self.state.epoch)) for n in range(16)}
        torch.save(state, os.path.join(self.folder, "checkpoints", f"ep{self.state.epoch % 2}.pt"))

    def fit(self):
        self.save_checkpoint()
        while not over():
            for images, targets in self.loader:
                self.gpu.copy(images.nbytes + targets.nbytes, pinned=True, non_blocking=True)
                self.gpu.launch(0.045, "resnet50, backward, sgd")
                self.state.samples += len(images)
                self.state.loss = self.gpu.item()
                for logger in self.loggers:
                    logger.batch_end(self.state)
                self.state.step += 1
                if over():
                    break
            self.state.epoch += 1
            self.save_checkpoint()
            for logger in self.loggers:
                logger.epoch_end(self.state)
        return self.state.samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as run_directory, tempfile.TemporaryDirectory() as staging:
        os.makedirs(os.path.join(run_directory, "checkpoints"))
        logger = WandBLogger(Run(staging), run_directory, log_artifacts_every_n_batches=100 if FIX else 1)
        loader = DataLoader(Images(), 64, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        done(gpu, Trainer(gpu, loader, [FileLogger(run_directory), logger], run_directory).fit())


if __name__ == "__main__":
    main()
