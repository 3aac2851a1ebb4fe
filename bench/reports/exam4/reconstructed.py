"""Similarity of reconstructed brains is measured on the host in validation (aramis-lab/clinicadl#465)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.functional import conv3d
from torch.utils.data import DataLoader, Dataset

SHAPE = (1, 56, 64, 56)


class CapsDataset(Dataset):
    """Images of brains in a common space, made smaller."""

    def __init__(self, participants):
        self.participants = participants
        self.image = torch.rand(SHAPE)

    def __len__(self):
        return self.participants

    def __getitem__(self, i):
        return {"image": self.image, "participant_id": f"sub-{i:03d}"}


def gaussian_window(size=7, sigma=1.5):
    one = torch.exp(-((torch.arange(size) - size // 2) ** 2) / (2 * sigma**2))
    one = one / one.sum()
    return (one[:, None, None] * one[None, :, None] * one[None, None, :])[None, None]


def ssim(x, y, window=gaussian_window()):
    """Structural similarity of volumes, the mean over all voxels."""
    mu_x, mu_y = conv3d(x, window), conv3d(y, window)
    var_x, var_y = conv3d(x * x, window) - mu_x**2, conv3d(y * y, window) - mu_y**2
    covariance = conv3d(x * y, window) - mu_x * mu_y
    return ((2 * mu_x * mu_y + 1e-4) * (2 * covariance + 9e-4) / ((mu_x**2 + mu_y**2 + 1e-4) * (var_x + var_y + 9e-4))).mean()


class MetricModule:
    def __init__(self, gpu):
        self.gpu, self.rows = gpu, []

    def apply(self, output, image):
        difference = output - image
        row = {"MSE": float((difference**2).mean()), "MAE": float(difference.abs().mean())}
        if FIX:
            for name in ("conv3d", "conv3d", "conv3d", "conv3d", "conv3d", "ssim"):
                self.gpu.launch(0.002, name)
            row["SSIM"] = self.gpu.item()
        else:
            row["SSIM"] = float(ssim(output, image))
        self.rows.append(row)


class AutoEncoder:
    def __init__(self, gpu):
        self.gpu = gpu

    def compute_outputs_and_loss(self, data, train):
        image = data["image"]
        self.gpu.copy(image.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.02, "encoder, decoder, loss")
        if train:
            self.gpu.launch(0.04, "backward, adam")
        else:
            self.gpu.item()
        return image


class Trainer:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.model = AutoEncoder(self.gpu)

    def test(self, loader):
        metrics = MetricModule(self.gpu)
        for data in loader:
            output = self.model.compute_outputs_and_loss(data, train=False)
            metrics.apply(output * 0.99, data["image"])
        return {name: sum(row[name] for row in metrics.rows) / len(metrics.rows) for name in metrics.rows[0]}

    def train(self, train_loader, valid_loader):
        samples = epoch = 0
        while not over():
            for data in train_loader:
                samples += len(self.model.compute_outputs_and_loss(data, train=True))
                if over():
                    break
            self.gpu.item()
            print(f"epoch {epoch}: {self.test(valid_loader)}", flush=True)
            epoch += 1
        return samples


def main():
    torch.set_num_threads(1)
    settings = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train_loader = DataLoader(CapsDataset(144), 4, shuffle=True, **settings)
    trainer = Trainer()
    done(trainer.gpu, trainer.train(train_loader, DataLoader(CapsDataset(24), 4, **settings)))


if __name__ == "__main__":
    main()
