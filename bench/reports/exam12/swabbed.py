"""Two networks learn the shape of the heart together; hard examples are made from what they see within."""

# https://github.com/cherise215/Cooperative_Training_and_Latent_Space_Data_Augmentation/issues/2

import gc

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SLICES, SIDE, BATCH = 8_000, 192, 24


class CardiacDataset(Dataset):
    """Each slice has its patient, phase, spacing and the windows that it is shown with."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.image = torch.from_numpy(draw.random((1, SIDE, SIDE), dtype=numpy.float32))
        self.slices = [
            {"patient": f"patient{s // 20:04d}", "phase": ["ED", "ES"], "spacing": [1.5, 1.5, 8.0], "windows": [[0, s]]}
            for s in range(SLICES)
        ]

    def __len__(self):
        return SLICES

    def __getitem__(self, i):
        return self.image, len(self.slices[i]["phase"])


class AdvancedTripletReconSegmentationModel:
    def __init__(self, gpu):
        self.gpu, self.latent = gpu, []

    def standard_training(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0121, "fast encoder, decoders")
        self.latent = [images[:, :, ::8, ::8] for _ in range(4)]

    def hard_example_generation(self):
        for code in range(len(self.latent)):
            self.gpu.launch(0.0029, f"mask code {code}")
        self.gpu.launch(0.0066, "decode")

    def cooperative_training(self):
        self.gpu.launch(0.0149, "denoise, loss")
        self.gpu.launch(0.0342, "backward, adam")

    def empty_cache(self):
        """Memory that nothing uses goes back; the device has to be done for it."""
        self.gpu.synchronize()

    def reset_all(self):
        self.latent = []
        if FIX:
            return
        gc.collect()
        self.empty_cache()


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=7 << 30), 0, 0
    model = AdvancedTripletReconSegmentationModel(gpu)
    loader = DataLoader(CardiacDataset(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, _ in loader:
            model.standard_training(images)
            model.hard_example_generation()
            model.cooperative_training()
            model.reset_all()
            step, samples = step + 1, samples + len(images)
            if step % 50 == 0:
                print(f"[epoch 0] iter {step}: seg {gpu.item():.4f} recon 0.0000", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
