"""An optimizer that goes over its parameters one by one, each step of it compiled."""

# https://github.com/Koratahiu/Advanced_Optimizers/pull/6
# Cause: the count of steps is raised inside the compiled function; its guards fail, and it is compiled anew.
# Fix: raise the count outside of what is compiled.
# Line: 40, state["step"] += 1 in _step_parameter.

import torch
import torch._dynamo
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch._dynamo.config.recompile_limit = 1000
torch._dynamo.config.accumulated_recompile_limit = 100_000


class Prodigy:
    def __init__(self, gpu, parameters, lr=1e-3):
        self.gpu, self.parameters, self.group = gpu, list(parameters), {"lr": lr, "beta": 0.9}
        self.state = {p: {"step": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)} for p in self.parameters}
        self._compiled_step_parameter = torch.compile(self._step_parameter, backend="eager", dynamic=False)

    @torch.no_grad()
    def step(self):
        for p in self.parameters:
            self._compiled_step_parameter(p, p.grad, self.state[p], self.group)
            self.gpu.launch(0.0003, "prodigy")
            if FIX:
                self.state[p]["step"] += 1
            p.grad = None

    def _step_parameter(self, p, grad, state, group):
        m, v = state["m"], state["v"]
        m.lerp_(grad, 1 - group["beta"])
        v.lerp_(grad * grad, 0.01)
        if not FIX:
            m = m / (1 - group["beta"] ** (state["step"] + 1))
            state["step"] += 1
        p.addcdiv_(m, v.sqrt() + 1e-8, value=-group["lr"])


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = nn.Sequential(*[nn.Linear(16 + n, 17 + n) for n in range(2)])
    optimizer = Prodigy(gpu, model.parameters())
    loader = DataLoader(TensorDataset(torch.rand(4000, 16)), 8, shuffle=True)
    while not over():
        for (x,) in loader:
            gpu.copy(x.nbytes)
            gpu.launch(0.02, "unet")
            gpu.launch(0.04, "backward")
            model(x).pow(2).mean().backward()
            optimizer.step()
            step, samples = step + 1, samples + len(x)
            if step % 10 == 0:
                print(f"step {step}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
