"""A small model finds the price on a page of a shop: one vector for each element of the page."""

# https://github.com/mozilla/fathom/issues/104
# Cause: after each pass the accuracy is computed by running the samples through the model one at a time: 99 % of it.
# Fix: run all samples through the model at once, as training does.
# Line: 42 to 46, the loop of accuracy_per_tag.

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn

ELEMENTS, WIDTH = 1400, 24


class Tags:
    """The vectors of all pages; a few elements on each are the price."""

    def __init__(self):
        draw = torch.Generator().manual_seed(0)
        self.x = torch.rand(ELEMENTS, WIDTH, generator=draw)
        self.y = (self.x[:, :1] > 0.9).float()


class Ruleset(nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.layer = gpu, nn.Linear(WIDTH, 1)

    def forward(self, x):
        self.gpu.launch(6e-6, "linear")
        return self.layer(x)


@torch.no_grad()
def accuracy_per_tag(model, x, y):
    if FIX:
        right = (model(x).sigmoid().round() == y).sum()
        model.gpu.launch(2e-5, "sigmoid, round, eq, sum")
        return float(right + model.gpu.item()) / len(x)
    right = 0
    for vector, label in zip(x, y, strict=True):
        said = model(vector).sigmoid().item()
        model.gpu.launch(3e-6, "sigmoid")
        model.gpu.item()
        right += round(said) == label.item()
    return right / len(x)


def learn(gpu):
    tags, model = Tags(), Ruleset(gpu)
    gpu.copy(tags.x.nbytes + tags.y.nbytes)
    optimizer, criterion = torch.optim.Adam(model.parameters()), nn.BCEWithLogitsLoss()
    samples = iteration = 0
    while not over():
        loss = criterion(model(tags.x), tags.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gpu.launch(0.0008, "loss, backward, adam")
        accuracy = accuracy_per_tag(model, tags.x, tags.y)
        iteration, samples = iteration + 1, samples + ELEMENTS
        if iteration % 100 == 0:
            print(f"iteration {iteration}: accuracy {accuracy:.3f}, loss {loss.item():.4f}", flush=True)
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    done(gpu, learn(gpu))


if __name__ == "__main__":
    main()
