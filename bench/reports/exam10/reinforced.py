"""A language model is tuned by rewards; weights for serving, and the state to go on from, are saved as it learns."""

# https://github.com/areal-project/AReaL/pull/926
# Cause: Saver and RecoverHandler write weights and the optimizer's state before the next step may begin.
# Fix: copy the state to memory that is set aside, and write from there in a background process (mode "async").
# Line: 25 to 27, 61, 68, 77, 86: engine.save, called by Saver.save and RecoverHandler.dump in train.

import multiprocessing
import shutil
import tempfile
from pathlib import Path

import torch
from common import FIX, done, over
from stoker.emulated import Device

PARAMETERS, SAVE_EVERY, ANSWERS = 12_000_000, 2, 64


def write(folder, state):
    """Weights in two shards, the optimizer's state beside them."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    half = PARAMETERS // 2
    torch.save({"model": state["weights"][:half].clone()}, folder / "model-00001-of-00002")
    torch.save({"model": state["weights"][half:].clone()}, folder / "model-00002-of-00002")
    torch.save({name: state[name] for name in ("exp_avg", "exp_avg_sq")}, folder / "optim.pt")
    for old in sorted(folder.parent.iterdir(), key=lambda path: int(path.name))[:-1]:
        shutil.rmtree(old)


def background_writer(queue, staged):
    torch.set_num_threads(1)
    while (folder := queue.get()) is not None:
        write(folder, staged)
        queue.task_done()


class ArchonEngine:
    def __init__(self, gpu):
        self.gpu = gpu
        self.state = {name: torch.zeros(PARAMETERS) for name in ("weights", "exp_avg", "exp_avg_sq")}
        self.queue = None
        if FIX:
            self.staged = {name: torch.zeros(PARAMETERS).share_memory_() for name in self.state}
            self.queue = multiprocessing.get_context("fork").JoinableQueue()
            arguments = (self.queue, self.staged)
            multiprocessing.get_context("fork").Process(target=background_writer, args=arguments, daemon=True).start()

    def rollout(self):
        for token in range(32):
            self.gpu.launch(0.0041, f"decode {token}")
        self.gpu.item()

    def train_batch(self):
        for micro_batch in range(4):
            self.gpu.launch(0.024, f"forward, backward {micro_batch}")
        self.gpu.launch(0.006, "adamw")

    def save(self, folder):
        self.gpu.item()
        if self.queue:
            self.queue.join()
            for name, tensor in self.state.items():
                self.staged[name].copy_(tensor)
            self.queue.put(folder)
        else:
            write(folder, self.state)


class Saver:
    def __init__(self, root):
        self.root = root

    def save(self, engine, step):
        if step % SAVE_EVERY == 0:
            engine.save(f"{self.root}/{step}")


def train(engine, saver):
    samples = step = 0
    while not over():
        engine.rollout()
        engine.train_batch()
        step, samples = step + 1, samples + ANSWERS
        saver.save(engine, step)
        if step % 10 == 0:
            print(f"Epoch 1/1 Step {step}: grpo_actor/loss {engine.gpu.item():.4f}", flush=True)
    return samples


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        engine = ArchonEngine(Device(spin=False))
        samples = train(engine, Saver(folder))
        if engine.queue:
            engine.queue.join()
            engine.queue.put(None)
        done(engine.gpu, samples)


if __name__ == "__main__":
    main()
