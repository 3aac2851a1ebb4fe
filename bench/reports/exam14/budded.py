"""Kinds of iris are told apart by a small network; a page in the browser shows how the costs fall."""

# https://github.com/mila-iqia/blocks-extras/pull/30

import json
import queue
import threading
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, BATCHES, FEATURES, ANSWER = 10, 15, 4, 0.011


class Session:
    """The plotting server, on a port of this machine; a document is sent whole."""

    def push(self, document):
        json.dumps(document)
        time.sleep(ANSWER)


class Plot:
    """After each epoch the channels' newest values go to the page."""

    def __init__(self, channels):
        self.session, self.document = Session(), {channel: [] for channel in channels}

    def after_epoch(self, values):
        for channel, value in values.items():
            self.document[channel] = [*self.document[channel][-400:], round(value, 4)]
        self.push_document(dict(self.document))

    def push_document(self, document):
        self.session.push(document)

    def close(self):
        pass


class ThreadedPlot(Plot):
    def __init__(self, channels):
        super().__init__(channels)
        self.documents = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while (document := self.documents.get()) is not None:
            if self.documents.empty():
                self.session.push(document)

    def push_document(self, document):
        self.documents.put(document)

    def close(self):
        self.documents.put(None)
        self.thread.join()


class Softmax:
    def __init__(self, gpu):
        self.gpu = gpu

    def process_batch(self, batch):
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.00018, "linear, softmax, cost")
        self.gpu.launch(0.00042, "gradients, scale")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    iris, model = torch.rand(BATCH * BATCHES, FEATURES), Softmax(gpu)
    plot = (ThreadedPlot if FIX else Plot)(("train_cost", "train_error", "valid_cost"))
    while not over():
        for number in torch.randperm(BATCHES).tolist():
            model.process_batch(iris[number * BATCH : (number + 1) * BATCH])
            samples += BATCH
        epoch += 1
        cost = gpu.item() + 1 / epoch
        plot.after_epoch({"train_cost": cost, "train_error": cost / 2, "valid_cost": cost + 0.1})
        if epoch % 100 == 0:
            print(f"Training status: epochs_done {epoch}, train_cost {cost:.4f}", flush=True)
    done(gpu, samples)
    plot.close()


if __name__ == "__main__":
    main()
