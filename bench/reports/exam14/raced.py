"""A car learns to race: actors send what they saw, and a learner takes batches of it from a queue."""

# https://github.com/ray-project/ray/pull/17822

import queue
import threading

import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, FRAGMENT, FEATURES, ACTORS, MINIBATCHES = 256, 64, 48, 4, 8


class RolloutWorker:
    """An actor's newest fragment, as it came in from its process."""

    def __init__(self, seed):
        self.fragment = torch.full((FRAGMENT, FEATURES), float(seed))

    def sample(self):
        return self.fragment + 0.01


class LearnerThread(threading.Thread):
    """Takes a batch, goes over it several times, and takes the next."""

    def __init__(self, gpu):
        super().__init__(name="learner", daemon=True)
        self.gpu, self.inqueue, self.stopped = gpu, queue.Queue(4), threading.Event()
        self.samples, self.updates, self.stats = 0, 0, torch.zeros(16)

    def run(self):
        while not self.stopped.is_set():
            try:
                batch = self.inqueue.get(timeout=0.2)
            except queue.Empty:
                continue
            self.step(batch)

    def step(self, batch):
        for number in range(MINIBATCHES):
            part = batch[number::MINIBATCHES].clone()
            self.gpu.copy(part.nbytes)
            for layer in range(4):
                self.stats = torch.tanh(self.stats + part.mean())
                self.gpu.launch(0.0006, f"layer {layer}")
            self.gpu.launch(0.0021, "v-trace loss, backward, rmsprop")
        self.samples, self.updates = self.samples + len(batch), self.updates + 1

    def offer(self, batch):
        """Hand a batch over as soon as there is room for it; False when it is time to end."""
        while not over():
            try:
                if FIX:
                    self.inqueue.put(batch, timeout=0.2)
                else:
                    self.inqueue.put_nowait(batch)
            except queue.Full:
                continue
            return True
        return False


class ImpalaTrainer:
    def __init__(self, gpu):
        self.workers, self.learner = [RolloutWorker(seed) for seed in range(ACTORS)], LearnerThread(gpu)
        self.learner.start()

    def train(self):
        """Put fragments of all actors together, and hand them to the learner."""
        batch = torch.cat([worker.sample() for worker in self.workers])
        return self.learner.offer(batch)


def main():
    torch.set_num_threads(1)
    gpu, batches = Device(spin=False, memory_used=3 << 30), 0
    trainer = ImpalaTrainer(gpu)
    while trainer.train():
        batches += 1
        if batches % 50 == 0:
            print(f"num_steps_sampled: {batches * BATCH} num_steps_trained: {trainer.learner.samples}", flush=True)
    trainer.learner.stopped.set()
    trainer.learner.join()
    done(gpu, trainer.learner.samples)


if __name__ == "__main__":
    main()
