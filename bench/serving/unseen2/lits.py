"""LitServe: python bench/serving/unseen2/lits.py CASE PORT. See unseen2.py."""

import base64
import io
import sys

import litserve
import torch
from parts import Net, device
from PIL import Image

CASE, PORT = sys.argv[1], int(sys.argv[2])


class API(litserve.LitAPI):
    def setup(self, device):
        self.net = Net().eval()
        self.mask = Image.effect_noise((800, 800), 90)

    def decode_request(self, request):
        return torch.zeros(3, 8, 8)

    def predict(self, x):
        with torch.inference_mode():
            out = self.net(x if x.dim() == 4 else x[None])
            device().synchronize(spin=False)
        return out

    def batch(self, inputs):
        return torch.stack(inputs)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        if CASE == "lit-mask":
            file = io.BytesIO()
            self.mask.save(file, "PNG", optimize=True)  # the cause of lit-mask
            return {"mask": base64.b64encode(file.getvalue()).decode()}
        return {"class": 0}


if __name__ == "__main__":
    batch = {"max_batch_size": 16, "batch_timeout": 0.4} if CASE == "lit-timeout" else {}
    server = litserve.LitServer(API(**batch), accelerator="cpu", workers_per_device=1)
    server.run(port=PORT, host="127.0.0.1", generate_client_file=False, log_level="warning")
