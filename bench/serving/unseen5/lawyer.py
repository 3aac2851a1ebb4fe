"""Answers out of a library of laws: the passages that are nearest to a question, then the model. LitServe."""

import sys

import litserve
import numpy as np
import torch
from parts import Net, infer

PASSAGES, DIMENSIONS, WANTED = 120_000, 256, 5


class Library:
    """Vectors of all passages, of length one."""

    def __init__(self, passages):
        vectors = np.random.default_rng(9).normal(size=(passages, DIMENSIONS)).astype(np.float32)
        self.vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def nearest(self, question):
        likeness = self.vectors @ question
        order = np.argsort(likeness)[::-1]
        return [(int(n), float(likeness[n])) for n in order[:WANTED]]


class Lawyer(litserve.LitAPI):
    def setup(self, device):
        torch.set_num_threads(1)
        self.library = Library(PASSAGES)
        self.model = Net(0.045, 0.001).eval()

    def decode_request(self, request):
        words = request.get("question", "who pays for a broken window").split()
        vector = np.zeros(DIMENSIONS, np.float32)
        for word in words:
            vector[hash(word) % DIMENSIONS] += 1
        return vector / np.linalg.norm(vector)

    def predict(self, question):
        passages = self.library.nearest(question)
        infer(self.model, torch.zeros(1, 8))
        return passages

    def encode_response(self, passages):
        return {"answer": "it depends", "sources": [{"passage": n, "likeness": round(score, 4)} for n, score in passages]}


if __name__ == "__main__":
    server = litserve.LitServer(Lawyer(), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
