"""A language model trains on machines that are taken away now and then; each time it goes on from its last checkpoint."""

# https://github.com/huggingface/accelerate/pull/1002
# Cause: to come back to its place a resumed run loads all batches of the epoch that it has seen, and throws them away.
# Fix: skip_first_batches: the sampler skips them, and nothing is loaded.
# Line: 39 to 46, 71 to 74: the loop with continue in job; the work is in Documents.__getitem__.

import json
import random
import tempfile
from pathlib import Path

import torch
from accelerate import Accelerator, skip_first_batches
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

LENGTH, BATCH, PREEMPTED_EVERY = 256, 8, 30
TRAIN_STEPS = 240  # of an epoch


class Documents(Dataset):
    """Lines of JSON, which become token numbers when they are asked for."""

    def __init__(self, folder):
        draw = random.Random(0)
        words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 9))) for _ in range(3000)]
        self.path, self.places = Path(folder, "train.jsonl"), []
        with self.path.open("w") as file:
            for number in range(TRAIN_STEPS * BATCH):
                self.places.append(file.tell())
                file.write(json.dumps({"id": number, "text": " ".join(draw.choices(words, k=300))}) + "\n")
        self.vocab = {word: i for i, word in enumerate(words)}

    def __len__(self):
        return len(self.places)

    def __getitem__(self, i):
        with self.path.open() as file:
            file.seek(self.places[i])
            text = json.loads(file.readline())["text"]
        ids = []
        for word in text.split():
            ids += [self.vocab[word], *(hash(word[k : k + 3]) % 3000 for k in range(len(word) - 2))]
        return torch.tensor(ids[:LENGTH])


class GPTNeo:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, input_ids):
        self.gpu.copy(input_ids.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.007, "forward")

    def backward(self):
        self.gpu.launch(0.015, "backward, adamw")


def save_state(folder, epoch, step):
    Path(folder, "trainer_state.json").write_text(json.dumps({"epoch": epoch, "step": step}))


def job(accelerator, model, dataset, folder):
    """One life of the program: from its last checkpoint until the machine is taken away."""
    state = json.loads(Path(folder, "trainer_state.json").read_text())
    epoch, resume_step, trained = state["epoch"], state["step"], 0
    torch.manual_seed(epoch)
    loader = accelerator.prepare(DataLoader(dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True))
    batches = skip_first_batches(loader, resume_step) if FIX else loader
    for step, input_ids in enumerate(batches, resume_step if FIX else 0):
        if step < resume_step:
            continue
        model(input_ids)
        model.backward()
        trained += 1
        if step + 1 == TRAIN_STEPS:
            save_state(folder, epoch + 1, 0)
        elif trained == PREEMPTED_EVERY or over():
            save_state(folder, epoch, step + 1)
        if trained == PREEMPTED_EVERY or over():
            break
    accelerator.print(f"epoch {epoch}: step {step + 1}/{TRAIN_STEPS} loss {model.gpu.item():.4f}", flush=True)
    return trained


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    accelerator, model = Accelerator(cpu=True), GPTNeo(gpu)
    with tempfile.TemporaryDirectory() as folder:
        dataset = Documents(folder)
        save_state(folder, 0, 0)
        while not over():
            samples += BATCH * job(accelerator, model, dataset, folder)
        done(gpu, samples)


if __name__ == "__main__":
    main()
