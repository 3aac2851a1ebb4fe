"""Bicycles and cars are told apart on two ranks; every picture is a small file on a share of the cluster."""

# https://github.com/horovod/horovod/issues/824

import os
import tempfile
import time
import warnings

import cv2
import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PICTURES, SIDE, BATCH, WEIGHTS, ANSWER = 64, 96, 16, 20_000, 0.0075
PORT = 29400 + os.getpid() % 300


class Folder:
    """Files on this machine's own disk."""

    def __init__(self, root):
        self.root = root

    def read(self, name):
        with open(os.path.join(self.root, name), "rb") as file:
            return file.read()


class Share(Folder):
    """Files on another machine: to look one up, open and read it takes an answer of the network."""

    def read(self, name):
        time.sleep(ANSWER)
        return super().read(name)


class ImageFolder(Dataset):
    def __init__(self, folder):
        self.folder, self.names = folder, sorted(os.listdir(folder.root))

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        data = numpy.frombuffer(self.folder.read(self.names[i % len(self.names)]), numpy.uint8)
        return torch.from_numpy(cv2.imdecode(data, cv2.IMREAD_COLOR)).permute(2, 0, 1)


class ResNet:
    def __init__(self, gpu):
        self.gpu, self.gradients = gpu, torch.zeros(WEIGHTS)

    def train_step(self, images):
        self.gpu.copy(images.nbytes)
        self.gpu.launch(0.019, "resnet")
        self.gpu.launch(0.037, "backward")
        dist.all_reduce(self.gradients)
        self.gpu.launch(0.003, "sgd")


def train(rank, world, port, root):
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, step, going = Device(index=rank, spin=False, memory_used=9 << 30), 0, 0, torch.ones(1)
    model = ResNet(gpu)
    dataset = ImageFolder((Folder if FIX else Share)(root))
    loader = DataLoader(dataset, BATCH, num_workers=1, shuffle=True)
    over()
    for images in loader:
        model.train_step(images)
        step, samples = step + 1, samples + BATCH * world
        if step % 20 == 0:
            if rank == 0:
                print(f"Iter #{step}: loss {gpu.item():.3f}", flush=True)
            going.fill_(float(not over()))
            dist.broadcast(going, 0)
            if not going:
                break
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as share:
        for picture in range(PICTURES):
            pixels = numpy.random.default_rng(picture).integers(0, 255, (SIDE // 8, SIDE // 8, 3), dtype=numpy.uint8)
            cv2.imwrite(os.path.join(share, f"n{picture:08d}.JPEG"), cv2.resize(pixels, (SIDE, SIDE)))
        mp.start_processes(train, args=(2, PORT, share), nprocs=2, start_method="fork")
