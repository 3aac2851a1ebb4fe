"""The loop stops until each checkpoint is written and put together into one file (NVIDIA-NeMo/Automodel#635)."""

import contextlib
import os
import tempfile
import threading
import time

import safetensors.torch
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(1024, dtype=torch.long)


class Share:
    """A file on a share that takes 400 MB a second."""

    def __init__(self, folder, name):
        self.file = open(os.path.join(folder, name), "wb")  # noqa: SIM115

    def write(self, data):
        time.sleep(len(data) / 400e6)
        return self.file.write(data)

    def flush(self):
        self.file.flush()

    def close(self):
        self.file.close()


class Checkpointer:
    """Shards of the optimizer's state, and the model's in one file of safetensors."""

    def __init__(self, folder, is_async):
        self.folder, self.is_async, self.writer = folder, is_async, None

    def write(self, model_state, optimizer_state):
        for rank, shard in enumerate(optimizer_state):
            with contextlib.closing(Share(self.folder, f"__{rank}_0.distcp")) as file:
                torch.save(shard, file)
        with contextlib.closing(Share(self.folder, "model.safetensors")) as file:
            file.write(safetensors.torch.save(model_state))

    def save(self, model_state, optimizer_state):
        if not self.is_async:
            self.write(model_state, optimizer_state)
            return
        self.wait()
        staged = {name: part.clone() for name, part in model_state.items()}, [shard.clone() for shard in optimizer_state]
        self.writer = threading.Thread(target=self.write, args=staged)
        self.writer.start()

    def wait(self):
        if self.writer:
            self.writer.join()


class TrainFinetuneRecipe:
    def __init__(self, folder):
        self.gpu, self.checkpointer = Device(spin=False), Checkpointer(folder, is_async=FIX)
        self.model_state = {f"layers.{n}.weight": torch.randn(1 << 20) for n in range(20)}
        self.optimizer_state = [torch.randn(10 << 20) for _ in range(5)]

    def run_train_validation_loop(self, loader):
        samples = 0
        for step, batch in enumerate(loader, 1):
            self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.04, "forward, backward, optimizer")
            if step % 24 == 0:
                self.gpu.item()
                self.checkpointer.save(self.model_state, self.optimizer_state)
            samples += len(batch)
            if over():
                break
        self.checkpointer.wait()
        return samples


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        recipe = TrainFinetuneRecipe(folder)
        loader = DataLoader(Tokens(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True)
        done(recipe.gpu, recipe.run_train_validation_loop(loader))


if __name__ == "__main__":
    main()
