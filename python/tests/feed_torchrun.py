"""One rank of test_feed_torch.TorchrunTest: python -m torch.distributed.run … feed_torchrun.py ROOT OUT."""

import json
import sys
import warnings

import torch
import torch.distributed
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import stoker


def main(root, out):
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    warnings.simplefilter("ignore", stoker.StokerWarning)
    dataset = ImageFolder(root, T.Compose([T.CenterCrop(4), T.PILToTensor()]))
    epochs = []
    with stoker.DataLoader(dataset, batch_size=4, shuffle=True, tail="short") as loader:
        for epoch in range(2):
            loader.set_epoch(epoch)
            batches = []
            for images, _ in loader:
                total = torch.tensor([len(images)])
                torch.distributed.all_reduce(total)  # hangs where ranks differ in their number of steps
                batches.append(loader.indices.tolist())
            epochs.append(batches)
    with open(f"{out}{rank}", "w") as file:
        json.dump(epochs, file)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
