"""One kind of scan is made another by an adversarial diffusion network and a network that goes the other way."""

# https://github.com/icon-lab/SynDiff/issues/51
# Cause: none: a week for 50 epochs on that GPU "could be about normal. Diffusion models can take a while to train".
# Fix: nothing to change (--fix has two workers, which gains nothing).
# Line: none.

import tempfile

import numpy
import torch
from common import FIX, done, over
from scipy.io import loadmat, savemat
from stoker.emulated import Device
from torch.utils.data import DataLoader, TensorDataset

SIDE, SLICES, BATCH = 128, 120, 1


def write_contrasts(folder):
    draw = numpy.random.default_rng(0)
    rows, columns = numpy.mgrid[:SIDE, :SIDE] / SIDE - 0.5
    body = (rows**2 + columns**2 < 0.16).astype(numpy.float32)
    for contrast in ("T1", "T2"):
        data = body * draw.uniform(0.3, 1, (SLICES, SIDE, SIDE))
        savemat(f"{folder}/data_train_{contrast}.mat", {"data_fs": data.astype(numpy.float32)})


def CreateDatasetSynthesis(folder):
    both = [loadmat(f"{folder}/data_train_{contrast}.mat")["data_fs"] for contrast in ("T1", "T2")]
    return TensorDataset(*(torch.from_numpy((data - 0.5) / 0.5)[:, None] for data in both))


class Networks:
    """Two diffusive generators, two translators, and a discriminator of each."""

    def __init__(self, gpu):
        self.gpu = gpu

    def train_discriminators(self, x1, x2):
        self.gpu.copy(x1.nbytes + x2.nbytes, pinned=True, non_blocking=True)
        for contrast in ("contrast 1", "contrast 2"):
            self.gpu.launch(0.024, f"real, gradient penalty, {contrast}")
            self.gpu.launch(0.031, f"four steps of diffusion, fake, {contrast}")
            self.gpu.launch(0.022, f"cycle discriminator, {contrast}")
        self.gpu.launch(0.042, "backward, adam")

    def train_generators(self):
        for contrast in ("contrast 1", "contrast 2"):
            self.gpu.launch(0.043, f"diffusive generator, {contrast}")
            self.gpu.launch(0.029, f"translator, {contrast}")
        self.gpu.launch(0.118, "l1, cycle, backward, adam")


def q_sample_coefficients(num_timesteps=4, beta_min=0.1, beta_max=20.0):
    t = numpy.arange(num_timesteps + 1) / num_timesteps * (1 - 1e-3) + 1e-3
    variance = 1 - numpy.exp(2 * (-0.25 * t**2 * (beta_max - beta_min) - 0.5 * t * beta_min))
    return torch.from_numpy(numpy.sqrt(1 - variance)), torch.from_numpy(numpy.sqrt(variance))


def main():
    torch.set_num_threads(1)
    gpu, samples, iteration = Device(spin=False, memory_used=20 << 30), 0, 0
    networks, (a_s, sigmas) = Networks(gpu), q_sample_coefficients()
    with tempfile.TemporaryDirectory() as folder:
        write_contrasts(folder)
        dataset, workers = CreateDatasetSynthesis(folder), 2 if FIX else 1
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, pin_memory=True, persistent_workers=True)
        while not over():
            for x1, x2 in loader:
                t = int(torch.randint(0, len(a_s) - 1, (1,)))
                noisy = x1 * a_s[t].float() + torch.randn(x1.shape) * sigmas[t].float()
                networks.train_discriminators(noisy, x2)
                networks.train_generators()
                iteration, samples = iteration + 1, samples + len(x1)
                if iteration % 10 == 0:
                    print(f"epoch 0 iteration{iteration}, G-Adv: {gpu.item():.4f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
