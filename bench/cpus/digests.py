"""Digests of the batches of a small ImageFolder: digests.py FOLDER torch|stoker, under arm64's Python as well.

    bench/cpus/root.py --torch
    bin/cpus/root/python bench/cpus/digests.py FOLDER torch
    STOKER_BIN=... PYTHONPATH=python bin/cpus/root/python bench/cpus/digests.py FOLDER stoker
    ... stoker feed -- bin/cpus/root/python bench/cpus/digests.py FOLDER torch

torch's loader and stoker.DataLoader draw different random numbers, so only the batches named test must be equal for
these two. Under `stoker feed --` all batches must be.
"""

import hashlib
import sys

import torch
import torch.utils.data
from torchvision import datasets, transforms

torch.set_num_threads(1)
loader = torch.utils.data.DataLoader
if sys.argv[2] == "stoker":
    from stoker import DataLoader as loader

end = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
train = datasets.ImageFolder(sys.argv[1], transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), *end]))
test = datasets.ImageFolder(sys.argv[1], transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), *end]))
torch.manual_seed(5)
for name, data in (("train", train), ("test", test)):
    for images, labels in loader(data, batch_size=8, shuffle=name == "train", num_workers=2):
        print(name, hashlib.sha256(images.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()[:16], flush=True)
