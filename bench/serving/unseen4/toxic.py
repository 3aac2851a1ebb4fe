"""Is a sentence rude? LitServe."""

import sys

import litserve
import torch
from parts import Net, infer


class API(litserve.LitAPI):
    def setup(self, device):
        self.model = Net(0.120, 0.0008).eval()

    def decode_request(self, request):
        return torch.zeros(64, dtype=torch.long)

    def batch(self, sentences):
        return torch.stack(sentences)

    def predict(self, batch):
        return infer(self.model, batch)

    def unbatch(self, scores):
        return list(scores)

    def encode_response(self, score):
        return {"rude": False}


if __name__ == "__main__":
    server = litserve.LitServer(API(max_batch_size=2, batch_timeout=0.02), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
