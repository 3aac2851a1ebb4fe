"""stoker.Decode: bit by bit what Pillow and torchvision make, by one daemon for all workers of a Ray node."""

import os
import subprocess
import sys
import unittest

import leash
from private_folder import private_folder
from test_hook_torch import TORCH

BINARY = os.environ.get("STOKER_BIN", "")
CLIENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PROGRAM = """
import io, pickle
import numpy as np, torch
from PIL import Image
from torchvision import transforms as T
import stoker

def check():
    torch.set_num_threads(1)
    chance, files = np.random.default_rng(0), []
    for i in range(6):
        file = io.BytesIO()
        Image.fromarray(chance.integers(0, 255, (30, 40, 3), dtype=np.uint8)).resize((200, 150)).save(file, "PNG" if i == 2 else "JPEG")
        files.append(file.getvalue())
    transform = T.Compose([T.Resize(96), T.CenterCrop(64), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])
    want = torch.stack([transform(Image.open(io.BytesIO(f)).convert("RGB")) for f in files]).numpy()
    decode = pickle.loads(pickle.dumps(stoker.Decode(transform)))
    got = decode({"bytes": np.array(files, dtype=object), "path": np.arange(6)})
    assert list(got) == ["path", "image"] and got["image"].dtype == want.dtype
    assert got["image"].tobytes() == want.tobytes()
    try:
        decode({"bytes": [files[0], b"no picture"]})
    except Exception as error:
        assert type(error).__name__ == "UnidentifiedImageError", error
    else:
        raise SystemExit("a damaged file was taken")

check()
from stoker.deferred.materialize import dispatch
print(dispatch.materializer.line is not None and dispatch.materializer.line.is_alive())
"""


@unittest.skipUnless(TORCH and os.access(BINARY, os.X_OK), "needs PyTorch and STOKER_BIN; make test-torch has both")
class DecodeTest(unittest.TestCase):
    def test_bits(self):
        leash.hold(self)
        with private_folder() as place:
            environment = {**os.environ, "PYTHONPATH": CLIENT, "XDG_RUNTIME_DIR": place, "RAY_RAYLET_PID": "7"}
            done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=leash.PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)
            self.assertTrue([name for name in os.listdir(os.path.join(place, "stoker")) if name.startswith("ray-7-")])


if __name__ == "__main__":
    unittest.main()
