"""Sorts olives by their pictures. Ray Serve, in batches."""

import os
import sys
import time

import ray
import torch
from ray import serve


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2})
class Sorter:
    def __init__(self):
        from parts import Net, infer

        torch.set_num_threads(1)
        self.model, self.infer = Net(0.050, 0.002).eval(), infer

    @serve.batch(max_batch_size=16, batch_wait_timeout_s=0.4)
    async def sort(self, pictures):
        out = self.infer(self.model, torch.stack(pictures))
        return [float(row.mean()) for row in out]

    async def __call__(self, request):
        asked = await request.json()
        grade = await self.sort(torch.full((8,), float(asked.get("green", 0.5))))
        return {"grade": grade}


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1]), "location": "HeadOnly"})
    serve.run(Sorter.bind(), route_prefix="/olives")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
