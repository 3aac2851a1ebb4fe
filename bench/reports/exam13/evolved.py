"""A large language model is trained; its checkpoints go to an object store in the background."""

# https://github.com/InternLM/InternEvo/pull/65

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import torch
from common import FIX, done, over
from stoker.emulated import Device

LAYERS, CHECKPOINT_EVERY, CHECKPOINT, PART, ANSWER = 12, 50, 4_000_000, 500_000, 0.004


def make_table():
    """For the check sum that the store wants of each part."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0xC96C5795D7870F42 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def crc64(part):
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in part:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def upload(name, state):
    """Part by part, each with its check sum."""
    sums = []
    for start in range(0, len(state), PART):
        sums.append(crc64(state[start : start + PART]))
        time.sleep(ANSWER)
    return name, sums


class InternLM:
    def __init__(self, gpu):
        self.gpu, self.hidden = gpu, torch.ones(64)

    def state(self):
        self.gpu.copy(CHECKPOINT)
        return bytes(CHECKPOINT)

    def train_step(self):
        for layer in range(LAYERS):
            self.hidden = torch.tanh(self.hidden + 0.1)
            self.gpu.launch(0.0004, f"attention, mlp {layer}")
        self.gpu.launch(0.0071, "backward, reduce scatter, adamw")
        return self.gpu.item()


class CheckpointManager:
    def __init__(self):
        pool = ProcessPoolExecutor if FIX else ThreadPoolExecutor
        self.executor, self.upload = pool(max_workers=1), None

    def save(self, step, state):
        """Begin an upload, unless the one before is still under way."""
        if self.upload is None or self.upload.done():
            self.upload = self.executor.submit(upload, f"volc:step{step}/model_tp0_pp0.pt", state)

    def close(self):
        self.executor.shutdown()


def main():
    torch.set_num_threads(1)
    manager = CheckpointManager()
    manager.save(0, bytes(1000))
    gpu, samples, step = Device(spin=False, memory_used=60 << 30), 0, 0
    model = InternLM(gpu)
    while not over():
        began, loss = time.monotonic(), model.train_step()
        step, samples = step + 1, samples + 1
        if step % CHECKPOINT_EVERY == 0:
            manager.save(step, model.state())
        if step % 100 == 0:
            print(f"step={step}, loss={loss:.4f}, tgs={0.01 / (time.monotonic() - began):.2f}", flush=True)
    done(gpu, samples)
    manager.close()


if __name__ == "__main__":
    main()
