"""Pixels of a batch are picked on the host from images in its memory (nerfstudio-project/nerfstudio#2288)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device


class PixelSampler:
    def __init__(self, gpu, num_rays_per_batch):
        self.gpu, self.num_rays_per_batch = gpu, num_rays_per_batch

    def sample_method(self, num_images, image_height, image_width):
        scale = torch.tensor([num_images, image_height, image_width])
        return torch.floor(torch.rand(self.num_rays_per_batch, 3) * scale).long()

    def collate_image_dataset_batch(self, batch):
        num_images, image_height, image_width, _ = batch["image"].shape
        if FIX:
            self.gpu.launch(0.0003, "rand, floor, index")
            return {"rays": self.num_rays_per_batch}
        indices = self.sample_method(num_images, image_height, image_width)
        c, y, x = (part.flatten() for part in torch.split(indices, 1, dim=-1))
        collated = {key: value[c, y, x] for key, value in batch.items() if key != "image_idx"}
        indices[:, 0] = batch["image_idx"][c]
        collated["indices"] = indices
        return collated


class VanillaDataManager:
    def __init__(self, gpu, images=48):
        self.gpu, self.sampler = gpu, PixelSampler(gpu, 65_536)
        self.image_batch = {
            "image": torch.rand(images, 540, 960, 3), "mask": torch.ones(images, 540, 960, 1, dtype=torch.bool),
            "image_idx": torch.arange(images),
        }
        if FIX:
            gpu.copy(self.image_batch["image"].nbytes)

    def next_train(self):
        batch = self.sampler.collate_image_dataset_batch(self.image_batch)
        for part in batch.values():
            if torch.is_tensor(part):
                self.gpu.copy(part.nbytes)
        return self.sampler.num_rays_per_batch


class Trainer:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.datamanager = VanillaDataManager(self.gpu)
        self.optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(8))], lr=1e-2)

    def train_iteration(self):
        rays = self.datamanager.next_train()
        self.gpu.launch(0.01, "proposals, field, loss, backward")
        self.optimizer.step()
        return rays

    def train(self):
        samples = step = 0
        while not over():
            samples += self.train_iteration()
            step += 1
            if step % 100 == 0:
                print(f"step {step}: loss {self.gpu.item():.3f}", flush=True)
        return samples


def main():
    torch.set_num_threads(1)
    trainer = Trainer()
    done(trainer.gpu, trainer.train())


if __name__ == "__main__":
    main()
