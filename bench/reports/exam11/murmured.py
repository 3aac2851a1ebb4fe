"""Sounds of every kind are tagged by a network that sees their waveforms; clips lie in one big array."""

# https://github.com/qiuqiangkong/audioset_tagging_cnn/pull/36

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, Sampler

CLIP, CLASSES, BATCH = 320_000, 527, 64


class AudioSetDataset(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.waveforms = draw.integers(-32767, 32767, (40, CLIP), dtype=numpy.int16)
        self.targets = draw.random((40, CLASSES)) < 0.01

    def __getitem__(self, meta):
        row = meta["index"] % 40
        return {"audio_name": f"Y{meta['index']}", "waveform": self.waveforms[row], "target": self.targets[row]}


class TrainSampler(Sampler):
    def __iter__(self):
        draw = numpy.random.default_rng(1)
        while True:
            yield [{"index": int(i)} for i in draw.integers(0, 1_900_000, BATCH)]


def collate_fn(list_data_dict):
    batch = {}
    for key in list_data_dict[0]:
        values = numpy.array([data[key] for data in list_data_dict])
        batch[key] = torch.from_numpy(values) if FIX and values.dtype.kind != "U" else values
    return batch


def move_data_to_device(x, gpu):
    """As a tensor, on the device."""
    tensor = torch.as_tensor(x)
    gpu.copy(2 * tensor.nbytes, pinned=isinstance(x, torch.Tensor), non_blocking=True)
    return tensor


class Cnn14:
    def __init__(self, gpu):
        self.gpu = gpu

    def forward(self, waveform):
        self.gpu.launch(0.0021, "spectrogram, log mel, spec augmentation")
        for block in range(6):
            self.gpu.launch(0.0006, f"conv block {block}")

    def backward(self):
        self.gpu.launch(0.0072, "bce, backward, adam amsgrad")


def prepare(batch):
    """Names of clips that are heard twice are left out of the statistics."""
    names = sorted(batch["audio_name"])
    return len(names) - len(set(names))


def train(model, loader):
    gpu, iteration, samples = model.gpu, 0, 0
    for batch in loader:
        waveform = move_data_to_device(batch["waveform"], gpu)
        target = move_data_to_device(batch["target"], gpu)
        model.forward(waveform)
        model.backward()
        prepare(batch)
        iteration, samples = iteration + 1, samples + len(target)
        if iteration % 100 == 0:
            print(f"iteration: {iteration}, loss: {gpu.item():.4f}", flush=True)
        if over():
            return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    over()
    loader = DataLoader(
        AudioSetDataset(), batch_sampler=TrainSampler(), collate_fn=collate_fn, num_workers=1, pin_memory=True, prefetch_factor=2
    )
    done(gpu, train(Cnn14(gpu), loader))


if __name__ == "__main__":
    main()
