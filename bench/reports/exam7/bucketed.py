"""A model of videos is fine-tuned on four ranks; clips of one size come together. This is what its first rank does."""

# https://github.com/huggingface/finetrainers/issues/206
# Cause: the sampler walks over the data set itself, so each clip is decoded in the main process, and each rank decodes
#        the clips of all ranks to take its own.
# Fix: without that sampler: 10 minutes to a first batch become seconds.
# Line: 46, enumerate over self.data_source in BucketSampler (the work is at 31 to 33).

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, RandomSampler, Sampler

RANKS, FRAMES = 4, 9


class VideoDataset(Dataset):
    def __init__(self, count=400):
        draw = numpy.random.default_rng(0)
        frame = cv2.GaussianBlur(draw.integers(0, 255, (240, 360, 3), dtype=numpy.uint8), (0, 0), 3)
        self.count, self.clip = count, [cv2.imencode(".jpg", numpy.roll(frame, t, 1))[1] for t in range(FRAMES)]

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if isinstance(index, list):
            return index  # the sampler has loaded them
        frames = [cv2.resize(cv2.imdecode(jpeg, cv2.IMREAD_COLOR), (240, 160)) for jpeg in self.clip]
        video = torch.from_numpy(numpy.stack(frames)).permute(0, 3, 1, 2).contiguous()
        return {"prompt": f"clip {index}", "video": video.float().div_(127.5).sub_(1), "size": (FRAMES, 160, 240)}


class BucketSampler(Sampler):
    """Batches of clips that have the same number of frames, height and width."""

    def __init__(self, data_source, batch_size=1):
        self.data_source, self.batch_size, self.buckets = data_source, batch_size, {}

    def __len__(self):
        return len(self.data_source) // self.batch_size

    def __iter__(self):
        for _, data in enumerate(self.data_source[i] for i in torch.randperm(len(self.data_source)).tolist()):
            bucket = self.buckets.setdefault(data["size"], [])
            bucket.append(data)
            if len(bucket) == self.batch_size:
                yield list(bucket)
                bucket.clear()


class Shard:
    """Every fourth batch, as accelerate shares them out."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        for number, batch in enumerate(self.sampler):
            if number % RANKS == 0:
                yield batch


def collate(items):
    items = items[0] if isinstance(items[0], list) else items
    return [item["prompt"] for item in items], torch.stack([item["video"] for item in items])


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    dataset = VideoDataset()
    sampler = Shard(RandomSampler(dataset) if FIX else BucketSampler(dataset))
    loader = DataLoader(dataset, 1, sampler=sampler, collate_fn=collate, num_workers=1, pin_memory=True)
    while not over():
        for prompts, videos in loader:
            gpu.copy(videos.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.009, "vae, t5")
            gpu.launch(0.027, "transformer, backward, adamw")
            step, samples = step + 1, samples + len(prompts)
            if step % 25 == 0:
                print(f"Steps: {step}, loss={gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
