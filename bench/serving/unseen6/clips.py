"""What happens in a clip? LitServe; the model sees eight frames."""

import os
import sys
import tempfile

import cv2
import litserve
import numpy as np
import torch
from parts import Net, infer

LOOKED_AT, SIZE, LENGTH = 8, (640, 360), 300
CLIP = os.path.join(tempfile.gettempdir(), "unseen6-clip.avi")


def make_clip(path):
    """A clip as somebody might upload it."""
    chance = np.random.default_rng(3)
    out = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 25, SIZE)
    for n in range(LENGTH):
        small = chance.integers(0, 255, (36, 64, 3), np.uint8)
        out.write(cv2.resize(small, SIZE))
    out.release()


class Watcher(litserve.LitAPI):
    def setup(self, device):
        torch.set_num_threads(1)
        cv2.setNumThreads(1)
        self.model = Net(0.040, 0.001).eval()

    def decode_request(self, request):
        return request.get("clip", CLIP)

    def frames(self, path):
        video, frames = cv2.VideoCapture(path), []
        while True:
            there, frame = video.read()
            if not there:
                break
            frames.append(frame)
        video.release()
        chosen = np.linspace(0, len(frames) - 1, LOOKED_AT).astype(int)
        return [cv2.resize(frames[n], (224, 224)) for n in chosen]

    def predict(self, path):
        x = torch.from_numpy(np.stack(self.frames(path))).permute(0, 3, 1, 2).float().div_(255)
        return infer(self.model, x[None])

    def encode_response(self, out):
        return {"happens": "somebody cooks", "frames": out.shape[1]}


if __name__ == "__main__":
    make_clip(CLIP)
    server = litserve.LitServer(Watcher(), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
