"""The image and the mask of each sample are looked for in a whole folder (milesial/Pytorch-UNet#317, #449)."""

import tempfile
from pathlib import Path

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = Path(tempfile.gettempdir()) / "stoker-exam-carvana"


def make_files(count=4000):
    for folder, suffix in (("imgs", ""), ("masks", "_mask")):
        (FOLDER / folder).mkdir(parents=True, exist_ok=True)
        for n in range(count):
            path = FOLDER / folder / f"{n:05d}{suffix}.npy"
            if not path.exists():
                numpy.save(path, numpy.zeros((3 if folder == "imgs" else 1, 16, 16), numpy.uint8))


class BasicDataset(Dataset):
    def __init__(self, images_dir, masks_dir, mask_suffix):
        self.images_dir, self.masks_dir, self.mask_suffix = images_dir, masks_dir, mask_suffix
        self.ids = sorted(file.stem for file in images_dir.iterdir())

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, idx):
        name = self.ids[idx]
        if FIX:
            mask_file = [self.masks_dir / f"{name}{self.mask_suffix}.npy"]
            img_file = [self.images_dir / f"{name}.npy"]
        else:
            mask_file = list(self.masks_dir.glob(name + self.mask_suffix + ".*"))
            img_file = list(self.images_dir.glob(name + ".*"))
        assert len(img_file) == 1, f"Either no image or multiple images found for the ID {name}: {img_file}"
        assert len(mask_file) == 1, f"Either no mask or multiple masks found for the ID {name}: {mask_file}"
        return torch.from_numpy(numpy.load(img_file[0])) / 255, torch.from_numpy(numpy.load(mask_file[0]))


def main():
    torch.set_num_threads(1)
    make_files()
    gpu, samples = Device(), 0
    data = BasicDataset(FOLDER / "imgs", FOLDER / "masks", "_mask")
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, masks in loader:
            gpu.copy(images.nbytes + masks.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.02, "step")
            samples += len(images)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
