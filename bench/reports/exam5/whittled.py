"""Pretraining of a network from which smaller ones are taken: several of them in each step."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn


class Linear(nn.Linear):
    """A layer of which the first rows and columns can be used alone."""

    def set_sub_network(self, inputs, outputs):
        self.sub_inputs, self.sub_outputs = inputs, outputs
        self.sub_weight = self.weight[:outputs, :inputs]
        self.sub_bias = self.bias[:outputs]

    def reset_super_network(self):
        self.set_sub_network(self.in_features, self.out_features)


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.query, self.key, self.value, self.out, self.up, self.down = (Linear(width, width) for _ in range(6))

    def set_sub_network(self, width):
        for layer in (self.query, self.key, self.value, self.out, self.up, self.down):
            layer.set_sub_network(width, width)

    def reset_super_network(self):
        for layer in self.children():
            layer.reset_super_network()


class GPT(nn.Module):
    def __init__(self, gpu, layers=24):
        super().__init__()
        self.gpu, self.blocks, self.depth = gpu, nn.ModuleList(Block() for _ in range(layers)), layers

    def select_sub_network(self, config):
        self.depth = config["depth"]
        for block in self.blocks:
            block.set_sub_network(config["width"])

    def reset_super_network(self):
        self.depth = len(self.blocks)
        for block in self.blocks:
            block.reset_super_network()

    def forward_backward(self, ids):
        for _ in range(self.depth):
            self.gpu.launch(0.00012, "attention")
            self.gpu.launch(0.0001, "mlp")
        for _ in range(self.depth):
            self.gpu.launch(0.00022, "mlp backward")
            self.gpu.launch(0.00024, "attention backward")


class RandomStrategy:
    """Some networks drawn at random; their losses are summed."""

    def __init__(self, model, random_samples=5, seed=0):
        self.model, self.random_samples, self.draw = model, random_samples, random.Random(seed)

    def sample(self):
        return {"depth": self.draw.choice((12, 16, 20, 24)), "width": self.draw.choice((8, 16, 24, 32))}

    def __call__(self, ids):
        total = 0.0
        for _ in range(self.random_samples):
            self.model.select_sub_network(self.sample())
            self.model.forward_backward(ids)
            if FIX:
                self.model.gpu.launch(0.00001, "add")
            else:
                total += self.model.gpu.item()
            self.model.reset_super_network()
        return self.model.gpu.item() if FIX else total


def main():
    torch.set_num_threads(1)
    gpu, step, samples = Device(spin=False), 0, 0
    model = GPT(gpu)
    strategy, text = RandomStrategy(model), torch.randint(0, 50_000, (64, 8, 1025))
    while not over():
        ids = text[step % 64]
        gpu.copy(ids.nbytes)
        loss = strategy(ids)
        gpu.launch(0.002, "fused adamw")
        step, samples = step + 1, samples + len(ids)
        if step % 20 == 0:
            print(f"step {step}: loss {loss:.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
