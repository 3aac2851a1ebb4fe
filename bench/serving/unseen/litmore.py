"""LitServe: python bench/serving/unseen/litmore.py CASE PORT. See unseen.py."""

import base64
import io
import sys

import litserve
import torch
from parts import Net, device
from PIL import Image

CASE, PORT = sys.argv[1], int(sys.argv[2])


def picture():
    file = io.BytesIO()
    Image.effect_noise((1800, 1300), 80).convert("RGB").save(file, "JPEG", quality=92)
    return base64.b64encode(file.getvalue())


PICTURE = picture()


class API(litserve.LitAPI):
    def setup(self, device):
        self.net = Net(0.070, 0.010).eval() if CASE == "lit-full" else Net().eval()

    def decode_request(self, request):
        if CASE == "lit-base64":
            file = io.BytesIO(base64.b64decode(PICTURE))
            Image.open(file).convert("RGB").resize((224, 224))  # the cause of lit-base64
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
        return {"class": 0}


if __name__ == "__main__":
    batch = {"max_batch_size": 8, "batch_timeout": 0.005} if CASE == "lit-full" else {}
    server = litserve.LitServer(API(**batch), accelerator="cpu", workers_per_device=1)
    server.run(port=PORT, host="127.0.0.1", generate_client_file=False, log_level="warning")
