"""The moving average gives the allocator's memory back after each update, so the next step allocates it all again (huggingface/diffusers#2563)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CACHED = []  # blocks that the caching allocator of the device keeps


def allocate(gpu, blocks):
    """What a forward and a backward pass need: cudaMalloc where the cache has no block."""
    for _ in range(blocks - len(CACHED)):
        CACHED.append(bytearray(1 << 20))
        gpu.synchronize()


def empty_cache(gpu):
    """cudaFree of each block, which synchronizes with the device."""
    gpu.synchronize()
    CACHED.clear()


class Latents(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(4, 64, 64)


class EMAModel:
    def __init__(self, gpu, parameters):
        self.gpu, self.decay, self.shadow_params = gpu, 0.9999, [p.clone().detach() for p in parameters]

    @torch.no_grad()
    def step(self, parameters):
        for shadow, parameter in zip(self.shadow_params, parameters, strict=True):
            shadow.sub_((1 - self.decay) * (shadow - parameter))
            self.gpu.launch(0.00001, "lerp")
        if not FIX:
            empty_cache(self.gpu)


class Unet(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.layers = gpu, torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(150))

    def forward(self, x):
        for layer in self.layers:
            allocate(self.gpu, blocks=1 + len(CACHED) if len(CACHED) < len(self.layers) else 0)
            x = layer(x)
            self.gpu.launch(0.00006, "layer")
        return x


def main():
    torch.set_num_threads(1)
    gpu = Device()
    unet = Unet(gpu)
    ema = EMAModel(gpu, unet.parameters())
    optimizer = torch.optim.SGD(unet.parameters(), lr=0.0001)
    loader = DataLoader(Latents(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        loss = unet(batch[:, 0, 0, :8]).mean()
        loss.backward()
        gpu.launch(0.006, "backward")
        optimizer.step()
        optimizer.zero_grad()
        ema.step(unet.parameters())
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
