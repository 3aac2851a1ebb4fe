"""Which orchid is it? LitServe; what was said is counted elsewhere."""

import os
import sys

import litserve
import requests
import torch
from parts import Net, infer

COUNTS = os.environ.get("SERVICE_URL", "") + "/counts"


class Counts(litserve.Callback):
    """Tells a collector of each prediction."""

    def __init__(self):
        self.session = None

    def on_after_predict(self, lit_api):
        self.session = self.session or requests.Session()
        self.session.post(COUNTS, json={"model": "orchids-3", "sure": lit_api.sure}, timeout=5)


class Orchids(litserve.LitAPI):
    def setup(self, device):
        torch.set_num_threads(1)
        self.model, self.sure = Net(0.032, 0.002).eval(), 0.0

    def decode_request(self, request):
        return torch.full((1, 8), float(request.get("petals", 6)))

    def predict(self, x):
        out = infer(self.model, x)
        self.sure = float(out.mean())
        return out

    def encode_response(self, out):
        return {"orchid": "Ophrys apifera", "sure": self.sure}


if __name__ == "__main__":
    server = litserve.LitServer(Orchids(), accelerator="cpu", workers_per_device=1, callbacks=[Counts()])
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
