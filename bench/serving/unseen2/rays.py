"""Ray Serve: python bench/serving/unseen2/rays.py CASE PORT. See unseen2.py."""

import sys
import time

import ray
import torch
from ray import serve

CASE, PORT = sys.argv[1], int(sys.argv[2])


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=16)
class Ranker:
    def __init__(self, case):
        from parts import Net, infer

        self.case, self.net, self.infer = case, Net().eval(), infer

    async def __call__(self, request):
        if self.case == "ray-features":
            asked = await request.json()
            table = {}
            for i, x in enumerate(asked["x"] * 20):  # the cause of ray-features
                key = hash((i % 500, round(x, 2)))  # the cause of ray-features
                table[key] = table.get(key, 0.0) + x  # the cause of ray-features
        self.infer(self.net, torch.zeros(1, 8))
        return {"class": 0}


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": PORT, "location": "HeadOnly"})
    serve.run(Ranker.bind(CASE), route_prefix="/predict")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
