"""A language model is trained; so that a broken machine costs little, its state is kept on the cluster's storage."""

# https://github.com/intelligent-machine-learning/dlrover/pull/808

import os
import tempfile
import threading
import time
import warnings

import torch
from accelerate import Accelerator
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, LENGTH, PARAMETERS, CHECKPOINT_EVERY, WRITE_RATE = 4, 1024, 4_000_000, 60, 60e6


class Documents(Dataset):
    def __init__(self, count=100_000):
        self.ids, self.count = torch.arange(LENGTH), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.ids


class Storage:
    """A folder of the cluster: so many bytes a second go there."""

    def __init__(self, folder):
        self.folder = folder

    def save(self, state, step):
        path = os.path.join(self.folder, "rank_0.pt")
        torch.save({**state, "step": step}, path)
        time.sleep(os.path.getsize(path) / WRITE_RATE)


class Checkpointer:
    def __init__(self, storage):
        self.storage, self.agent = storage, None

    def save_checkpoint(self, state, step):
        if not FIX:
            self.storage.save(state, step)
            return
        self.close()
        memory = {name: part.clone() for name, part in state.items()}
        self.agent = threading.Thread(target=self.storage.save, args=(memory, step))
        self.agent.start()

    def close(self):
        if self.agent:
            self.agent.join()


class Model:
    def __init__(self, gpu):
        self.gpu = gpu
        self.state = {name: torch.rand(PARAMETERS) for name in ("weights", "exp_avg", "exp_avg_sq")}

    def train_step(self, ids):
        self.gpu.copy(ids.nbytes)
        self.gpu.launch(0.0061, "transformer")
        self.gpu.launch(0.0124, "backward, adamw")

    def state_dict(self):
        self.gpu.item()
        return self.state


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    accelerator = Accelerator(cpu=True)
    gpu, samples = Device(spin=False, memory_used=54 << 30), 0
    model, loader = Model(gpu), accelerator.prepare(DataLoader(Documents(), BATCH, shuffle=True, num_workers=1))
    with tempfile.TemporaryDirectory() as folder:
        checkpointer = Checkpointer(Storage(folder))
        over()
        for step, ids in enumerate(loader, 1):
            model.train_step(ids)
            samples += BATCH
            if step % CHECKPOINT_EVERY == 0:
                checkpointer.save_checkpoint(model.state_dict(), step)
            if step % 100 == 0:
                accelerator.print(f"iter {step} loss {gpu.item():.4f}", flush=True)
            if over():
                break
        done(gpu, samples)
        checkpointer.close()


if __name__ == "__main__":
    main()
