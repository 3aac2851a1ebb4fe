"""Is a bone broken? Ray Serve, with its batches."""

import asyncio
import os
import sys
import time

import ray
from ray import serve


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=64)
class Bones:
    def __init__(self):
        import torch
        from parts import Net

        torch.set_num_threads(1)
        self.torch, self.net = torch, Net(0.200, 0.030).eval()

    @serve.batch(max_batch_size=8, batch_wait_timeout_s=0.02)
    async def look(self, names):
        from parts import infer

        pictures = self.torch.zeros(len(names), 8)
        await asyncio.to_thread(infer, self.net, pictures)
        return [{"picture": name, "broken": False} for name in names]

    async def __call__(self, request):
        asked = await request.json()
        return await self.look(asked.get("picture", "wrist"))


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1]), "location": "HeadOnly"})
    serve.run(Bones.bind(), route_prefix="/bones")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
