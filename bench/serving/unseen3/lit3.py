"""LitServe: python bench/serving/unseen3/lit3.py CASE PORT. See unseen3.py."""

import os
import sys

import litserve
import torch
from parts import device

CASE, PORT = sys.argv[1], int(sys.argv[2])
FIXED = os.environ.get("BENCH_FIXED") == "1"
LENGTHS = (18, 42, 25, 60, 33, 51, 22, 39)


class Encoder(torch.nn.Module):
    """60 us for each token, those that only pad as well."""

    def forward(self, ids):
        device().launch(0.004 + 60e-6 * ids.numel(), "encoder")
        return ids


class Images(torch.nn.Module):
    def forward(self, x):
        device().launch(0.060 + 0.030 * len(x), "forward")
        return x


class API(litserve.LitAPI):
    def setup(self, device):
        self.net = (Images() if CASE == "lit-fit" else Encoder()).eval()
        self.at = 0

    def decode_request(self, request):
        self.at += 1
        return torch.ones(8 if CASE == "lit-fit" else LENGTHS[self.at % 8], dtype=torch.long)

    def batch(self, inputs):
        if CASE == "lit-fit":
            return torch.stack(inputs)
        longest = max(map(len, inputs)) if FIXED else 512  # padding="max_length"
        padded = torch.zeros(len(inputs), longest, dtype=torch.long)
        for row, ids in zip(padded, inputs):
            row[: len(ids)] = ids
        return padded

    def predict(self, x):
        with torch.inference_mode():
            out = self.net(x)
            device().synchronize(spin=False)
        return out[:, 0]

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"class": int(output)}


if __name__ == "__main__":
    server = litserve.LitServer(API(max_batch_size=8, batch_timeout=0.01), accelerator="cpu", workers_per_device=1)
    server.run(port=PORT, host="127.0.0.1", generate_client_file=False, log_level="warning")
