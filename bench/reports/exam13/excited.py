"""A potential is fitted to energies and forces of small systems; summaries are written for a dashboard."""

# https://github.com/deepmodeling/deepmd-kit/pull/996

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

NLOC, SYSTEMS, DISP_FREQ, TENSORBOARD_FREQ = 192, 32, 500, 100 if FIX else 1
LIMITS = [1e-12 * 1.1**k for k in range(774)]
LIMITS = numpy.array([-limit for limit in reversed(LIMITS)] + [0.0, *LIMITS])


class SummaryWriter:
    """Scalars and histograms, as lines of a file of events."""

    def __init__(self, folder):
        self.file = open(os.path.join(folder, "events.out"), "w")  # noqa: SIM115

    def add_scalar(self, tag, value, step):
        self.file.write(f"{step} {tag} {value:.8e}\n")

    def add_histogram(self, tag, values, step):
        counts, _ = numpy.histogram(values, LIMITS)
        filled = numpy.nonzero(counts)[0]
        self.file.write(f"{step} {tag} {values.sum():.6e} {counts[filled].tolist()} {filled.tolist()}\n")

    def close(self):
        self.file.close()


class DPTrainer:
    """Embedding and fitting nets of two types of atoms."""

    def __init__(self, gpu, writer):
        draw = numpy.random.default_rng(0)
        shapes = [(1, 25), (25, 50), (50, 100), (100, 240), (240, 120), (120, 1)] * 2
        self.gpu, self.writer = gpu, writer
        self.variables = {f"layer_{n}/matrix": draw.normal(size=shape) for n, shape in enumerate(shapes)}

    def train_on_batch(self, coord):
        self.gpu.copy(coord.nbytes)
        self.gpu.launch(0.0007, "environment matrix")
        self.gpu.launch(0.0016, "embedding and fitting nets")
        self.gpu.launch(0.0043, "forces, backward, adam")

    def write_summaries(self, step):
        for tag in ("l2_loss", "l2_ener_loss", "l2_force_loss"):
            self.writer.add_scalar(tag, self.gpu.item(), step)
        for tag, values in self.variables.items():
            self.gpu.copy(values.nbytes)
            self.writer.add_histogram(tag, values, step)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=2 << 30), 0, 0
    coords = torch.rand(SYSTEMS, NLOC, 3, dtype=torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        trainer = DPTrainer(gpu, SummaryWriter(folder))
        while not over():
            trainer.train_on_batch(coords[step % SYSTEMS])
            step, samples = step + 1, samples + 1
            if step % TENSORBOARD_FREQ == 0:
                trainer.write_summaries(step)
            if step % DISP_FREQ == 0:
                print(f"DEEPMD INFO    batch {step:7d} rmse_trn {gpu.item():.2e}", flush=True)
        done(gpu, samples)
        trainer.writer.close()


if __name__ == "__main__":
    main()
