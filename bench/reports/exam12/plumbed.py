"""An encoder of text is trained by an optimizer that also tells how big gradients are."""

# https://github.com/AnswerDotAI/ModernBERT/pull/108

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

LAYERS, BATCH, LENGTH, EVERY = 22, 32, 1024, 10


class Tokens(Dataset):
    def __init__(self, count=100_000):
        self.ids, self.count = torch.arange(LENGTH) % 50_000, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.ids


class StableAdamW:
    def __init__(self, gpu, log_grad_norm):
        self.gpu, self.log_grad_norm = gpu, log_grad_norm

    def step(self):
        for layer in range(LAYERS):
            if self.log_grad_norm:
                self.gpu.launch(0.00007, f"l1 and l2 norm {layer}")
            self.gpu.launch(0.0007, f"stable adamw {layer}")
        if self.log_grad_norm:
            self.gpu.launch(0.00002, "norm of norms")


class ModernBert:
    def __init__(self, gpu):
        self.gpu, self.optimizer = gpu, StableAdamW(gpu, log_grad_norm=not FIX)

    def fit_batch(self, ids):
        self.gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(LAYERS):
            self.gpu.launch(0.0038, f"attention, glu {layer}")
        self.gpu.launch(0.179, "mlm head, backward")
        self.optimizer.step()


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=44 << 30), 0, 0
    model = ModernBert(gpu)
    loader = DataLoader(Tokens(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for ids in loader:
            model.fit_batch(ids)
            step, samples = step + 1, samples + len(ids)
            if step % EVERY == 0:
                print(f"[batch={step}/70000]: Train loss: {gpu.item():.4f} gradient_norms/l2: 0.0000", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
