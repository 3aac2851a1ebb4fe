"""A GAN reads three losses from the device in each iteration for its progress bar (rosinality/style-based-gan-pytorch#50)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32)


class StyledConvBlock(torch.nn.Module):
    """Small parameters as a styled block has them: its cost on the host is real, its result is not."""

    def __init__(self, gpu, seconds):
        super().__init__()
        self.gpu, self.seconds = gpu, seconds
        self.conv = torch.nn.Linear(8, 8)
        self.styles = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(8)) for _ in range(6))

    def forward(self, x):
        x = torch.nn.functional.leaky_relu(self.conv(x), 0.2)
        for style in self.styles:
            x = x + style
        self.gpu.launch(self.seconds, "conv")
        if x.requires_grad:
            x.register_hook(lambda _: self.gpu.launch(self.seconds, "conv backward"))
        return x


def make_network(gpu, depth=10, seconds=0.00018):
    return torch.nn.Sequential(*(StyledConvBlock(gpu, seconds) for _ in range(depth)))


def accumulate(model1, model2, decay=0.999):
    for ours, theirs in zip(model1.parameters(), model2.parameters()):
        ours.data.mul_(decay).add_(theirs.data, alpha=1 - decay)


def train(gpu, loader):
    generator, discriminator, g_running = (make_network(gpu) for _ in range(3))
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.001, betas=(0.0, 0.99), foreach=False)
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=0.001, betas=(0.0, 0.99), foreach=False)
    disc_loss_val = gen_loss_val = grad_loss_val = 0.0
    samples, noise = 0, torch.randn(4, 8)
    for i, real_image in enumerate(loader):
        gpu.copy(real_image.nbytes, pinned=True, non_blocking=True)
        discriminator.zero_grad()
        disc_loss = discriminator(generator(noise).detach()).mean() - discriminator(noise).mean()
        disc_loss.backward()
        if not FIX or i % 10 == 0:
            grad_loss_val = gpu.item()
            disc_loss_val = gpu.item()
        d_optimizer.step()
        generator.zero_grad()
        gen_loss = -discriminator(generator(noise)).mean()
        gen_loss.backward()
        if not FIX or i % 10 == 0:
            gen_loss_val = gpu.item()
        g_optimizer.step()
        accumulate(g_running, generator)
        if i % 100 == 0:
            print(f"G: {gen_loss_val:.3f}; D: {disc_loss_val:.3f}; Grad: {grad_loss_val:.3f}", flush=True)
        samples += len(real_image)
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(Faces(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True, drop_last=True)
    done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
