"""A detector in mixed precision; hooks around the step keep a trailing mean of its weights."""

# https://github.com/facebookresearch/d2go/pull/494
# Cause: the mean is updated in the hook after the step, weight by weight: the CPU takes 20 ms, while the GPU has nothing to do.
# Fix: update it after backward and before the optimizer, while the CPU would wait for the backward anyway.
# Line: 42 to 48, EMAHook.update, from after_step at 56.

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Coco(Dataset):
    def __len__(self):
        return 3000

    def __getitem__(self, i):
        return torch.full((3, 128, 128), i / 3000)


class HookBase:
    def before_step(self):
        pass

    def after_backward(self):
        pass

    def after_step(self):
        pass


class EMAHook(HookBase):
    """w' = decay * w' + (1 - decay) * w for parameters and buffers alike."""

    def __init__(self, gpu, state, decay=0.9998):
        self.gpu, self.state, self.decay = gpu, state, decay
        self.average = {name: value.detach().clone() for name, value in state.items()}

    @torch.no_grad()
    def update(self):
        for name, value in self.state.items():
            mean = self.average[name]
            if value.dtype.is_floating_point:
                mean.mul_(self.decay)
                self.gpu.launch(0.000005, "mul")
                mean.add_(value.detach(), alpha=1 - self.decay)
                self.gpu.launch(0.000005, "add")

    def after_backward(self):
        if FIX:
            self.update()

    def after_step(self):
        if not FIX:
            self.update()


class AMPTrainer:
    def __init__(self, gpu, loader, hooks):
        self.gpu, self.loader, self.hooks, self.iter, self.samples = gpu, loader, hooks, 0, 0

    def run_step(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.011, "backbone, heads, losses")
        self.gpu.launch(0.018, "backward")
        for hook in self.hooks:
            hook.after_backward()
        self.gpu.item()  # the scaler looks for inf before it steps
        self.gpu.launch(0.002, "unscale, sgd")

    def train(self):
        while not over():
            for images in self.loader:
                for hook in self.hooks:
                    hook.before_step()
                self.run_step(images)
                for hook in self.hooks:
                    hook.after_step()
                self.iter, self.samples = self.iter + 1, self.samples + len(images)
                if self.iter % 20 == 0:
                    print(f"iter: {self.iter}  total_loss: {self.gpu.item():.3f}", flush=True)
                if over():
                    break


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    model = torch.nn.Sequential(*[layer for _ in range(90) for layer in (torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6))])
    loader = DataLoader(Coco(), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    trainer = AMPTrainer(gpu, loader, [EMAHook(gpu, model.state_dict())])
    trainer.train()
    done(gpu, trainer.samples)


if __name__ == "__main__":
    main()
