"""The norm of each parameter's gradient is read from the device in each step (ApolloResearch/e2e_sae#60)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Activations(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(256)


def log_gradients(gpu, parameters):
    return {n: gpu.item() for n in range(parameters)}


def main():
    gpu = Device(spin=False)
    loader = DataLoader(Activations(), batch_size=32, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.008, "forward, backward")
        if FIX:
            gpu.launch(0.0005, "norms")
        else:
            for _ in range(60):
                gpu.launch(0.00001, "norm")
                sum(i * i for i in range(1500))
                gpu.item()
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
