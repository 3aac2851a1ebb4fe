"""Joints of people are found in photographs; the recipe comes from the documentation."""

# https://github.com/Deci-AI/super-gradients/pull/1990

import time

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PHOTOS, HEIGHT, WIDTH, SIDE, JOINTS, READ = 32, 120, 160, 112, 17, 0.0016
DATALOADER_PARAMS = {"batch_size": 12, "num_workers": 1 if FIX else 0, "shuffle": True, "drop_last": True}


class COCOPoseEstimationDataset(Dataset):
    """Photographs of a disk, with joints of those in them."""

    def __init__(self, count=60_000):
        draw, self.count = numpy.random.default_rng(0), count
        self.files = []
        for _ in range(PHOTOS):
            small = draw.integers(0, 255, (HEIGHT // 10, WIDTH // 10, 3), dtype=numpy.uint8)
            self.files.append(cv2.imencode(".jpg", cv2.resize(small, (WIDTH, HEIGHT)))[1])
        self.joints = draw.random((PHOTOS, 4, JOINTS, 2)) * SIDE

    def __len__(self):
        return self.count

    def read(self, i):
        time.sleep(READ)
        return self.files[i % PHOTOS]

    def __getitem__(self, i):
        image, joints = cv2.imdecode(self.read(i), cv2.IMREAD_COLOR), self.joints[i % PHOTOS]
        turn = cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), float(numpy.random.uniform(-20, 20)), 1.0)
        image = cv2.resize(cv2.warpAffine(image, turn, (WIDTH, HEIGHT)), (SIDE, SIDE))
        if numpy.random.random() < 0.5:
            image = image[:, ::-1]
        image = (image.astype(numpy.float32) / 255 - 0.45) / 0.22
        return torch.from_numpy(image.transpose(2, 0, 1).copy()), torch.from_numpy(joints).float()


class YoloNASPose:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, images, joints):
        self.gpu.copy(images.nbytes + joints.nbytes)
        self.gpu.launch(0.0085, "backbone, neck, heads")
        self.gpu.launch(0.0185, "losses, backward, adamw")
        return self.gpu.item()


def train_epoch(model, loader, samples):
    for step, (images, joints) in enumerate(loader, 1):
        loss = model(images, joints)
        samples += len(images)
        if step % 25 == 0:
            print(f"Train epoch 0: {step} PoseNASLoss/loss={loss:.3f} gpu_mem=11.2", flush=True)
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples = Device(spin=False, memory_used=11 << 30), 0
    model = YoloNASPose(gpu)
    loader = DataLoader(COCOPoseEstimationDataset(), **DATALOADER_PARAMS)
    while not over():
        samples = train_epoch(model, loader, samples)
    done(gpu, samples)


if __name__ == "__main__":
    main()
