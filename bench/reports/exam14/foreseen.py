"""What a robot would see is foretold for several plans, one plan after the other."""

# https://github.com/Robert-gyj/Ctrl-World/issues/15

import torch
from common import FIX, done, over
from stoker.emulated import Device

PLANS, INTERACTIONS, DENOISE, BLOCKS, FRAMES, ACTIONS = 10, 3, 6, 4, 5, 7


class WorldModel:
    """The device's work is emulated."""

    def __init__(self, gpu):
        self.gpu = gpu

    def forward_wm(self, actions, history):
        self.gpu.copy(actions.nbytes + history.nbytes)
        for step in range(DENOISE):
            for block in range(BLOCKS):
                self.gpu.launch(0.0047 * len(actions), f"step {step} block {block}")
        self.gpu.launch(0.021 * len(actions), "vae decoder")
        self.gpu.item()
        return torch.zeros(len(actions), FRAMES, 3, 24, 40)


def main():
    torch.set_num_threads(1)
    gpu, samples, trajectories = Device(spin=False, memory_used=33 << 30), 0, 0
    model = WorldModel(gpu)
    plans = torch.rand(PLANS, INTERACTIONS, FRAMES, ACTIONS)
    while not over():
        for part in plans.split(PLANS if FIX else 1):
            history = torch.zeros(len(part), FRAMES, 3, 24, 40)
            for interaction in range(INTERACTIONS):
                history = model.forward_wm(part[:, interaction], history)
                samples += len(part)
                if over():
                    break
            trajectories += len(part)
            if over():
                break
        print(f"{trajectories} plans of {INTERACTIONS} interactions foretold", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
