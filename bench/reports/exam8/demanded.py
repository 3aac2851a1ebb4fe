"""Demand of each shop and product is forecast by a temporal fusion transformer, under Lightning."""

# https://github.com/sktime/pytorch-forecasting/pull/1850
# Cause: __getitem__ and the collator cut, scale and pad each series again with many small operations, in the main process.
# Fix: compute all once (__precompute__), and let the collator only take the result.
# Line: 42 to 57, TimeSeriesDataSet.__getitem__, and _collate_fn at 63.

import warnings

import lightning
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
ENCODER, DECODER, SERIES, STEPS, BATCH = 24, 6, 150, 60, 64


class GroupNormalizer:
    def __init__(self, target):
        self.center, self.scale = target.mean(1), target.std(1) + 1e-3

    def transform(self, y, group):
        return (torch.log1p(y) - self.center[group]) / self.scale[group]


class TimeSeriesDataSet(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.reals = torch.from_numpy(draw.gamma(2, 20, (SERIES, STEPS, 8))).float()
        self.categoricals = torch.from_numpy(draw.integers(0, 12, (SERIES, STEPS, 5)))
        self.target = self.reals[..., 0]
        self.normalizer = GroupNormalizer(torch.log1p(self.target))
        self.index = [(g, t) for g in range(SERIES) for t in range(STEPS - ENCODER - DECODER)]
        self.ready = [self.item(i) for i in range(len(self.index))] if FIX else None

    def __len__(self):
        return len(self.index)

    def item(self, idx):
        group, start = self.index[idx]
        length = int(torch.randint(ENCODER // 2, ENCODER + 1, ()))
        end = start + length
        reals = self.reals[group, start : end + DECODER].clone()
        categoricals = self.categoricals[group, start : end + DECODER].clone()
        y = self.target[group, start : end + DECODER]
        scaled = self.normalizer.transform(y, group)
        for column in range(1, reals.shape[1]):
            reals[:, column] = (reals[:, column] - reals[:, column].mean()) / (reals[:, column].std() + 1e-6)
        reals[:, 0] = scaled
        age = torch.arange(len(y)) / ENCODER
        reals = torch.cat([reals, age[:, None], torch.full((len(y), 1), length / ENCODER)], 1)
        categoricals[:, 0] = torch.where(categoricals[:, 0] >= 11, 0, categoricals[:, 0])
        scale = torch.stack([self.normalizer.center[group], self.normalizer.scale[group]])
        return {"x_cont": reals, "x_cat": categoricals, "encoder_length": length, "target_scale": scale}, y[length:]

    def __getitem__(self, idx):
        return self.ready[idx] if FIX else self.item(idx)

    @staticmethod
    def _collate_fn(batches):
        pad = torch.nn.utils.rnn.pad_sequence
        encoder = [x["encoder_length"] for x, _ in batches]
        return {
            "encoder_cont": pad([x["x_cont"][:n] for (x, _), n in zip(batches, encoder, strict=True)], batch_first=True),
            "encoder_cat": pad([x["x_cat"][:n] for (x, _), n in zip(batches, encoder, strict=True)], batch_first=True),
            "decoder_cont": torch.stack([x["x_cont"][-DECODER:] for x, _ in batches]),
            "decoder_cat": torch.stack([x["x_cat"][-DECODER:] for x, _ in batches]),
            "target_scale": torch.stack([x["target_scale"] for x, _ in batches]),
        }, torch.stack([y for _, y in batches])


class TemporalFusionTransformer(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.output_layer, self.gpu, self.samples = torch.nn.Linear(8, 7), None, 0

    def on_fit_start(self):
        self.gpu = Device(spin=False)

    def training_step(self, batch, batch_idx):
        x, y = batch
        for tensor in (*x.values(), y):
            self.gpu.copy(tensor.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0042, "variable selection, lstm, attention")
        self.gpu.launch(0.0091, "quantile loss, backward, ranger")
        self.samples += len(y)
        if batch_idx % 50 == 49:
            self.log("train_loss_step", self.gpu.item())
        if over():
            self.trainer.should_stop = True

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.03)


def main():
    torch.set_num_threads(1)
    dataset = TimeSeriesDataSet()
    loader = DataLoader(dataset, BATCH, shuffle=True, collate_fn=dataset._collate_fn, drop_last=True)
    tft = TemporalFusionTransformer()
    over()
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=-1, min_epochs=0, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(tft, loader)
    done(tft.gpu, tft.samples)


if __name__ == "__main__":
    main()
