"""A resumed run reads and drops every batch that it was trained on before (VBTI-development/onedl-mmengine#33)."""

import io

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, Sampler


class CocoDataset(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.files = [self.encode(draw) for _ in range(16)]

    def encode(self, draw):
        buffer = io.BytesIO()
        small = Image.fromarray(draw.integers(0, 255, (24, 32, 3), numpy.uint8))
        small.resize((640, 480), Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=90)
        return buffer.getvalue()

    def __len__(self):
        return 20_000

    def __getitem__(self, i):
        image = Image.open(io.BytesIO(self.files[i % 16])).convert("RGB").resize((320, 240))
        return torch.from_numpy(numpy.array(image)).permute(2, 0, 1), torch.zeros(10, 5)


class InfiniteSampler(Sampler):
    """Numbers of samples without an end; it can begin later in the order."""

    def __init__(self, dataset, seed=0):
        self.size, self.seed, self.skipped = len(dataset), seed, 0

    def skip(self, count):
        self.skipped = count

    def __iter__(self):
        generator, passed = torch.Generator().manual_seed(self.seed), 0
        while True:
            for index in torch.randperm(self.size, generator=generator).tolist():
                if passed >= self.skipped:
                    yield index
                passed += 1


class Runner:
    def __init__(self, train_dataloader, sampler, max_iters=100_000):
        self.gpu, self.iter, self.max_iters = Device(spin=False), 0, max_iters
        self.train_dataloader, self.sampler, self.samples = train_dataloader, sampler, 0

    def resume(self, checkpoint):
        self.iter = checkpoint["meta"]["iter"]
        print(f"resumed from iter {self.iter}", flush=True)

    def train(self):
        loop = IterBasedTrainLoop(self)
        loop.run()


class IterBasedTrainLoop:
    def __init__(self, runner):
        self.runner = runner

    def run(self):
        runner = self.runner
        if FIX:
            runner.sampler.skip(runner.iter * runner.train_dataloader.batch_size)
        self.dataloader_iterator = iter(runner.train_dataloader)
        if runner.iter > 0 and not FIX:
            print(f"Advance dataloader {runner.iter} steps to skip data that has already been trained", flush=True)
            for _ in range(runner.iter):
                next(self.dataloader_iterator)
        while runner.iter < runner.max_iters and not over():
            self.run_iter(next(self.dataloader_iterator))

    def run_iter(self, data_batch):
        images, boxes = data_batch
        self.runner.gpu.copy(images.nbytes + boxes.nbytes, pinned=True, non_blocking=True)
        self.runner.gpu.launch(0.05, "detector, losses, backward")
        self.runner.samples += len(images)
        self.runner.iter += 1
        if self.runner.iter % 50 == 0:
            print(f"iter {self.runner.iter}: loss {self.runner.gpu.item():.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    over()
    data = CocoDataset()
    sampler = InfiniteSampler(data)
    runner = Runner(DataLoader(data, 8, sampler=sampler, num_workers=2, pin_memory=True), sampler)
    runner.resume({"meta": {"iter": 600}})
    runner.train()
    done(runner.gpu, runner.samples)


if __name__ == "__main__":
    main()
