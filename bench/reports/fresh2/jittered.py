"""Camera pictures are transformed one by one in the workers, on few cores (huggingface/lerobot#4627)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2


class ImageTransforms:
    def __init__(self):
        self.transforms = v2.RandomChoice(
            [
                v2.ColorJitter(brightness=(0.8, 1.2)),
                v2.ColorJitter(contrast=(0.8, 1.2)),
                v2.ColorJitter(saturation=(0.5, 1.5)),
                v2.ColorJitter(hue=(-0.05, 0.05)),
                v2.RandomAffine(degrees=5, translate=(0.05, 0.05)),
            ]
        )

    def __call__(self, picture):
        return self.transforms(self.transforms(picture))


class LeRobotDataset(Dataset):
    def __init__(self, image_transforms):
        self.image_transforms = image_transforms
        self.frames = {camera: torch.randint(0, 255, (3, 256, 256), dtype=torch.uint8) for camera in ("top", "wrist")}

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        torch.set_num_threads(1)
        item = {}
        for camera, frame in self.frames.items():
            item[camera] = self.image_transforms(frame) if self.image_transforms else frame
        return item


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    dataset = LeRobotDataset(None if FIX else ImageTransforms())
    loader = DataLoader(dataset, batch_size=16, shuffle=True, num_workers=2, pin_memory=True)
    for batch in loader:
        gpu.copy(sum(pictures.nbytes for pictures in batch.values()), pinned=True, non_blocking=True)
        if FIX:
            gpu.launch(0.006, "transforms of the batch")
        gpu.launch(0.02, "step")
        gpu.item()
        samples += len(batch["top"])
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
