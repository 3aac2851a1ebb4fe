"""Where will a comet be? LitServe, in batches."""

import sys

import litserve
import torch
from parts import Net, infer


class Comets(litserve.LitAPI):
    def setup(self, device):
        torch.set_num_threads(1)
        self.model = Net(0.300, 0.015).eval()

    def decode_request(self, request):
        return torch.full((8,), float(request.get("perihelion", 0.6)))

    def batch(self, inputs):
        return torch.stack(inputs)

    def predict(self, x):
        return infer(self.model, x)

    def unbatch(self, out):
        return list(out)

    def encode_response(self, out):
        return {"ascension": float(out[0]), "declination": float(out[1])}


if __name__ == "__main__":
    server = litserve.LitServer(Comets(max_batch_size=8, batch_timeout=0.02), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
