"""Ray Serve: python bench/serving/unseen/raymore.py CASE PORT. See unseen.py."""

import sys
import time
from pathlib import Path

import ray
import torch
from ray import serve

CASE, PORT = sys.argv[1], int(sys.argv[2])
HERE = str(Path(__file__).parent)


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=64)
class Batched:
    def __init__(self):
        sys.path.insert(0, HERE)
        from parts import Net, infer

        self.net, self.infer = Net().eval(), infer

    @serve.batch(max_batch_size=32, batch_wait_timeout_s=0.35)
    async def answer(self, requests):
        self.infer(self.net, torch.zeros(len(requests), 8))
        return [{"class": 0}] * len(requests)

    async def __call__(self, request):
        return await self.answer(request)


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=64)
class Single:
    def __init__(self):
        sys.path.insert(0, HERE)
        from parts import Net, infer

        self.net, self.infer = Net(0.060, 0.001).eval(), infer

    async def __call__(self, request):
        self.infer(self.net, torch.zeros(1, 8))
        return {"class": 0}


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": PORT, "location": "HeadOnly"})
    serve.run((Batched if CASE == "ray-batch-wait" else Single).bind(), route_prefix="/predict")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
