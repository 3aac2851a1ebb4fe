"""A model of the earth learns from a year of satellite pictures by guessing what was hidden from it."""

# https://github.com/allenai/olmoearth_pretrain/pull/467

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, SIDE, MONTHS, BAND_SETS, ENCODE, DECODE = 16, 6, 12, 3, 0.5, 0.25
MODALITIES = ("sentinel2_l2a", "sentinel1", "landsat")


class OlmoEarthDataset(Dataset):
    def __init__(self, count=80_000):
        self.count = count
        self.tokens = {name: torch.zeros(SIDE, SIDE, MONTHS, BAND_SETS, 4) for name in MODALITIES}

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.tokens


class MaskingStrategy:
    """Which tokens of a sample are seen, which are guessed, and which are left out."""

    def mask(self, tokens):
        shape = tokens.shape[:-1]
        order = torch.rand(shape).flatten().argsort()
        seen, guessed = int(ENCODE * len(order)), int(DECODE * len(order))
        mask = torch.full((len(order),), 2, dtype=torch.uint8)
        mask[order[:seen]] = 0
        mask[order[seen : seen + guessed]] = 1
        missing = (tokens == -99999).all(-1)
        return torch.where(missing, 3, mask.view(shape))

    def apply_mask(self, samples):
        """Masks of a list of samples, stacked."""
        return {name: torch.stack([self.mask(sample[name]) for sample in samples]) for name in MODALITIES}


class Collate:
    def __init__(self, strategy):
        self.strategy = strategy

    def __call__(self, samples):
        batch = {name: torch.stack([sample[name] for sample in samples]) for name in MODALITIES}
        return batch, self.strategy.apply_mask(samples) if self.strategy else None


class TrainModule:
    def __init__(self, gpu, strategy):
        self.gpu, self.masking_strategy = gpu, strategy

    def train_batch(self, batch, masks):
        if masks is None:
            samples = [{name: batch[name][i] for name in MODALITIES} for i in range(BATCH)]
            masks = self.masking_strategy.apply_mask(samples)
        self.gpu.copy(sum(part.nbytes for part in [*batch.values(), *masks.values()]))
        self.gpu.launch(0.006, "encoder, decoder, target encoder")
        self.gpu.launch(0.0125, "patch discrimination loss, backward, adamw")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, step, strategy = Device(spin=False, memory_used=46 << 30), 0, 0, MaskingStrategy()
    module = TrainModule(gpu, strategy)
    loader = DataLoader(
        OlmoEarthDataset(), BATCH, shuffle=True, num_workers=1, persistent_workers=True, drop_last=True,
        collate_fn=Collate(strategy if FIX else None),
    )  # fmt: skip
    while not over():
        for batch, masks in loader:
            loss = module.train_batch(batch, masks)
            step, samples = step + 1, samples + BATCH
            if step % 25 == 0:
                print(f"[step={step}] train/PatchDisc={loss:.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
