"""A model of hospital records is trained; each step's loss goes to a service in the cloud."""

# https://github.com/FGA-DIKU/BONSAI/pull/154

import queue
import threading
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

PATIENTS, BATCH, LENGTH, ANSWER = 4096, 32, 512, 0.0065


class MLMDataset(Dataset):
    def __init__(self):
        self.concepts = torch.randint(0, 10_000, (64, LENGTH))

    def __len__(self):
        return PATIENTS

    def __getitem__(self, i):
        concept = self.concepts[i % 64]
        return {"concept": concept, "age": concept % 100, "segment": concept % 2}


class Azure:
    """The run's page; each number is a request."""

    def log_metric(self, name, value, step):
        time.sleep(ANSWER)

    def close(self):
        pass


class AzureQueue(Azure):
    """Requests are made in a thread, one after the other."""

    def __init__(self):
        self.metrics = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while (metric := self.metrics.get()) is not None:
            super().log_metric(*metric)

    def log_metric(self, name, value, step):
        self.metrics.put((name, value, step))

    def close(self):
        with self.metrics.mutex:
            self.metrics.queue.clear()
        self.metrics.put(None)
        self.thread.join()


class EHRTrainer:
    def __init__(self, gpu):
        self.gpu, self.run, self.samples, self.step = gpu, AzureQueue() if FIX else Azure(), 0, 0

    def _train_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()), pinned=True, non_blocking=True)
        self.gpu.launch(0.0055, "modernbert")
        self.gpu.launch(0.0107, "backward, adamw")
        return self.gpu.item()

    def _train_epoch(self, loader):
        bar = tqdm(loader, mininterval=5)
        for batch in bar:
            loss = self._train_step(batch)
            self.step, self.samples = self.step + 1, self.samples + BATCH
            self.run.log_metric("Train loss", loss, self.step)
            self.run.log_metric("Learning rate", 5e-5, self.step)
            if not FIX:
                bar.set_postfix(loss=loss)
            if over():
                break


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False, memory_used=18 << 30)
    trainer = EHRTrainer(gpu)
    loader = DataLoader(MLMDataset(), BATCH, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        trainer._train_epoch(loader)
    done(gpu, trainer.samples)
    trainer.run.close()


if __name__ == "__main__":
    main()
