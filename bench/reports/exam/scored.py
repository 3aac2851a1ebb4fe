"""Each score at the end of an epoch goes through the validation set once more (skorch-dev/skorch#552)."""

import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Remote(Dataset):
    """Files of a bucket, fetched as they are asked for."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        time.sleep(0.001)
        return torch.zeros(256), i % 2


class EpochScoring:
    def __init__(self, name, scoring):
        self.name, self.scoring = name, scoring

    def on_epoch_end(self, net, dataset_valid):
        y_pred, y = net.y_valid if FIX else net.predict(dataset_valid)
        net.history[-1][self.name] = self.scoring(y_pred, y)


class NeuralNet:
    def __init__(self, callbacks):
        self.gpu, self.module, self.callbacks = Device(spin=False), torch.nn.Linear(2, 2), callbacks
        self.history, self.samples = [], 0
        self.train_loader = self.valid_loader = None

    def get_iterator(self, dataset, shuffle=False):
        return DataLoader(dataset, batch_size=16, shuffle=shuffle)

    def evaluation_step(self, x):
        self.module.eval()
        self.gpu.copy(x.nbytes)
        self.gpu.launch(0.002, "forward")
        self.gpu.item()
        return torch.zeros(len(x))

    def predict(self, dataset):
        with torch.no_grad():
            pairs = [(self.evaluation_step(x), y) for x, y in self.get_iterator(dataset)]
        return torch.cat([y_pred for y_pred, _ in pairs]), torch.cat([y for _, y in pairs])

    def fit_loop(self, dataset_train, dataset_valid):
        while not over():
            self.history.append({})
            self.module.train()
            for x, _ in self.get_iterator(dataset_train, shuffle=True):
                self.gpu.copy(x.nbytes)
                self.gpu.launch(0.02, "step")
                self.gpu.item()
                self.samples += len(x)
                if over():
                    return
            self.y_valid = self.predict(dataset_valid)
            for callback in self.callbacks:
                callback.on_epoch_end(self, dataset_valid)


def count_hits(y_pred, y):
    return float((y_pred == y).float().mean())


def main():
    torch.set_num_threads(1)
    net = NeuralNet([EpochScoring(name, count_hits) for name in ("precision", "recall", "f1", "auc", "kappa", "mcc")])
    net.fit_loop(Remote(640), Remote(320))
    done(net.gpu, net.samples)


if __name__ == "__main__":
    main()
