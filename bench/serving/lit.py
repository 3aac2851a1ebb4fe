"""The same trouble behind LitServe: python bench/serving/lit.py CASE PORT. See situations.py."""

import sys
import time

import litserve
import torch

from stoker.emulated import Device

CASE, PORT = sys.argv[1], int(sys.argv[2])


class Model(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.weight = gpu, torch.nn.Parameter(torch.zeros(8))

    def forward(self, batch):
        self.gpu.launch(0.030 + 0.002 * len(batch), "forward")
        self.gpu.synchronize(spin=False)
        return batch


class API(litserve.LitAPI):
    def setup(self, device):
        self.model = Model(Device(0)).eval()

    def decode_request(self, request):
        if CASE == "lit-decode":
            end, total = time.thread_time() + 0.060, 0
            while time.thread_time() < end:  # so much of a core on any machine
                for i in range(40_000):  # the cause of lit-decode
                    total += i * i % 7  # the cause of lit-decode
        return torch.zeros(3, 8, 8)

    def predict(self, batch):
        if CASE == "lit-postprocess":
            out = self.model(batch[None])
            time.sleep(0.050)  # the cause of lit-postprocess: a file is written for each request
            return out
        return self.model(batch if batch.dim() == 4 else batch[None])

    def batch(self, inputs):
        return torch.stack(inputs)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"class": 0}


if __name__ == "__main__":
    batch = {"max_batch_size": 8, "batch_timeout": 0.01} if CASE == "lit-batched" else {}
    server = litserve.LitServer(API(**batch), accelerator="cpu", workers_per_device=1)
    server.run(port=PORT, host="127.0.0.1", generate_client_file=False, log_level="warning")
