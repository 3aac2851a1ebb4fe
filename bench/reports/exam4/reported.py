"""A report is held up until the checkpoint of the epoch is in remote storage (ray-project/ray#48801)."""

import http.client
import http.server
import multiprocessing
import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BYTES_A_SECOND = 24e6


class Bucket(http.server.BaseHTTPRequestHandler):
    """Object storage behind a network that is not fast."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        left = int(self.headers["Content-Length"])
        while left > 0:
            piece = len(self.rfile.read(min(left, 1 << 20)))
            left -= piece
            time.sleep(piece / BYTES_A_SECOND)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    port.value = server.server_port
    server.serve_forever()


class S3FileSystem:
    def __init__(self, port):
        self.port = port

    def upload(self, path, key):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with open(path, "rb") as file:
            connection.request("PUT", f"/{key}", body=file, headers={"Content-Length": str(os.path.getsize(path))})
            connection.getresponse().read()
        connection.close()


class TrainContext:
    """What the workers of a run report to."""

    def __init__(self, storage, upload_mode):
        self.storage, self.upload_mode, self.pool, self.pending = storage, upload_mode, ThreadPoolExecutor(1), None

    def persist(self, folder, index):
        for name in os.listdir(folder):
            self.storage.upload(os.path.join(folder, name), f"checkpoint_{index:06d}/{name}")
        shutil.rmtree(folder)

    def report(self, metrics, checkpoint, index):
        if self.upload_mode == "async":
            if self.pending:
                self.pending.result()
            self.pending = self.pool.submit(self.persist, checkpoint, index)
        else:
            self.persist(checkpoint, index)
        print(f"reported {metrics}", flush=True)


class Prompts(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, i):
        return torch.full((512,), i), torch.zeros(512, dtype=torch.long)


def save_model(state, root, epoch):
    folder = tempfile.mkdtemp(prefix=f"epoch{epoch}-", dir=root)
    torch.save(state, os.path.join(folder, "model.pt"))
    return folder


def train_func(gpu, context, root):
    state = {f"layers.{n}": torch.zeros(1_000_000) for n in range(12)}
    loader = DataLoader(Prompts(), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    samples = epoch = 0
    while not over():
        for ids, labels in loader:
            gpu.copy(ids.nbytes + labels.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.045, "forward, backward, step")
            samples += len(ids)
            if over():
                break
        loss = gpu.item()
        context.report({"loss": loss, "epoch": epoch}, save_model(state, root, epoch), epoch)
        epoch += 1
    return samples


def main():
    torch.set_num_threads(1)
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as root:
        context = TrainContext(S3FileSystem(port.value), "async" if FIX else "sync")
        done(gpu, train_func(gpu, context, root))
        context.pool.shutdown()
    server.terminate()


if __name__ == "__main__":
    main()
