"""Objects are found in pictures on two ranks; each rank's losses are gathered for the log."""

# https://github.com/facebookresearch/detectron2/pull/4785

import os
import warnings

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device

BATCH, WRITER_PERIOD, LAYERS = 2, 20, 40
PORT = 29500 + os.getpid() % 300


class EventStorage:
    def __init__(self):
        self.history = {}

    def put_scalars(self, **scalars):
        for name, value in scalars.items():
            self.history.setdefault(name, []).append(value)


class GeneralizedRCNN:
    """Losses stay on the device until somebody reads them."""

    def __init__(self, gpu):
        self.gpu, self.hidden = gpu, torch.ones(64)

    def __call__(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        for layer in range(LAYERS):
            self.hidden = torch.relu(torch.addcmul(self.hidden, self.hidden, self.hidden, value=-0.5))
            self.gpu.launch(0.00009, f"layer {layer}")
        return ("loss_cls", "loss_box_reg", "loss_mask", "loss_rpn_cls", "loss_rpn_loc")

    def backward_and_step(self):
        for layer in range(LAYERS):
            self.hidden = torch.tanh(self.hidden * 1.01 + 0.01)
            self.gpu.launch(0.00012, f"backward {layer}")
        self.gpu.launch(0.0011, "all-reduce on the device, sgd")


class SimpleTrainer:
    def __init__(self, model, rank, gather_metric_period):
        self.model, self.gpu, self.rank, self.period = model, model.gpu, rank, gather_metric_period
        self.storage, self.iter = EventStorage(), 0

    def run_step(self, images):
        loss_dict = self.model(images)
        self.model.backward_and_step()
        self.iter += 1
        if self.iter % self.period == 0:
            self._write_metrics(loss_dict)

    def _write_metrics(self, loss_dict):
        """Mean losses of all ranks, on rank 0."""
        metrics_dict = {name: self.gpu.item() for name in loss_dict}
        gathered = [None] * dist.get_world_size() if self.rank == 0 else None
        dist.gather_object(metrics_dict, gathered)
        if self.rank == 0:
            metrics = {name: float(numpy.mean([m[name] for m in gathered])) for name in gathered[0]}
            self.storage.put_scalars(total_loss=sum(metrics.values()), **metrics)


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, going = Device(index=rank, spin=False), 0, torch.ones(1)
    trainer = SimpleTrainer(GeneralizedRCNN(gpu), rank, WRITER_PERIOD if FIX else 1)
    images = torch.zeros(BATCH, 3, 400, 400, dtype=torch.uint8)
    over()
    while going:
        trainer.run_step(images)
        samples += BATCH * world
        if trainer.iter % WRITER_PERIOD == 0:
            if rank == 0 and trainer.iter % 100 == 0:
                print(f"eta: 1 day, iter: {trainer.iter}  total_loss: {gpu.item():.3f}  lr: 0.02", flush=True)
            going.fill_(float(not over()))
            dist.broadcast(going, 0)
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(train, args=(2, PORT), nprocs=2)
