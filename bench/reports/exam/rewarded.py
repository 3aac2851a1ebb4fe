"""Reward functions ask a server one answer after the other, while the device idles (huggingface/trl#4567, #3426)."""

import asyncio
import http.client
import json
import multiprocessing
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Judge(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.03)  # a judge reads the answer
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"0.5")

    def log_message(self, *_):
        pass


def serve(port):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    port.value = server.server_port
    server.serve_forever()


def ask(port, criterion, completion):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/" + criterion, json.dumps({"completion": completion}))
    score = float(connection.getresponse().read())
    connection.close()
    return score


class GRPOTrainer:
    def __init__(self, port):
        self.gpu, self.port, self.reward_funcs = Device(spin=False), port, ["correctness", "style"]
        self.parameter = torch.nn.Parameter(torch.zeros(8))
        self.optimizer = torch.optim.AdamW([self.parameter], lr=1e-6)

    async def _calculate_at_once(self, completions):
        jobs = [asyncio.to_thread(ask, self.port, name, text) for name in self.reward_funcs for text in completions]
        return torch.tensor(await asyncio.gather(*jobs)).view(len(self.reward_funcs), -1).T

    def _calculate_rewards(self, completions):
        if FIX:
            return asyncio.run(self._calculate_at_once(completions))
        rewards_per_func = torch.zeros(len(completions), len(self.reward_funcs))
        for i, reward_func in enumerate(self.reward_funcs):
            rewards_per_func[:, i] = torch.tensor([ask(self.port, reward_func, text) for text in completions])
        return rewards_per_func

    def training_step(self, prompts):
        self.gpu.copy(prompts.nbytes)
        self.gpu.launch(0.15, "generate")
        self.gpu.item()
        rewards = self._calculate_rewards([f"answer {n}" for n in range(len(prompts))])
        self.gpu.copy(rewards.nbytes)
        self.gpu.launch(0.05, "forward, backward")
        self.parameter.grad = torch.zeros(8)
        self.optimizer.step()
        self.gpu.item()


class Prompts(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(64, dtype=torch.long)


def main():
    torch.set_num_threads(1)
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    trainer, samples = GRPOTrainer(port.value), 0
    for prompts in DataLoader(Prompts(), batch_size=8, shuffle=True, num_workers=1):
        trainer.training_step(prompts)
        samples += len(prompts)
        if over():
            break
    done(trainer.gpu, samples)
    server.terminate()


if __name__ == "__main__":
    main()
