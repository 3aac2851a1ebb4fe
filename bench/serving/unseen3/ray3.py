"""Ray Serve: python bench/serving/unseen3/ray3.py CASE PORT. See unseen3.py."""

import os
import sys
import time

import ray
import torch
from ray import serve

CASE, PORT = sys.argv[1], int(sys.argv[2])
FIXED = os.environ.get("BENCH_FIXED") == "1"


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=16)
class Score:
    """A compiled model, whose requests have texts of any length."""

    def __init__(self, fixed):
        from parts import Net, infer

        self.net, self.infer, self.at = Net(0.025, 0.0).eval(), infer, 0
        torch.set_num_threads(1)
        layers = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.LayerNorm(32)).eval()
        self.encoder = torch.compile(layers, backend="eager", dynamic=False)
        self.fixed = fixed

    def __call__(self, request):
        torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
        self.at += 1
        length = 512 if self.fixed else 16 + self.at * 7 % 491
        with torch.inference_mode():
            self.encoder(torch.zeros(1, length, 32))  # the cause of ray-recompile
        self.infer(self.net, torch.zeros(1, 8))
        return {"class": 0}


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=32)
class Embed:
    def __init__(self):
        from parts import Net, infer

        self.net, self.infer = Net(0.045, 0.003).eval(), infer

    @serve.batch(max_batch_size=8, batch_wait_timeout_s=0.01)
    async def embed(self, texts):
        self.infer(self.net, torch.zeros(len(texts), 8))
        return [{"class": 0}] * len(texts)

    async def __call__(self, request):
        return await self.embed((await request.body()).decode())


if __name__ == "__main__":
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": PORT, "location": "HeadOnly"})
    serve.run(Score.bind(FIXED) if CASE == "ray-recompile" else Embed.bind(), route_prefix="/predict")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
