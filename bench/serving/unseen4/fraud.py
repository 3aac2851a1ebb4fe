"""Is a payment right? Ray Serve; the features of a customer come from a store."""

import os
import sys
import time

import ray
import torch
from ray import serve

FEATURES = os.environ["SERVICE_URL"] + "/customers/17"


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=1)
class Fraud:
    def __init__(self, features):
        from parts import Net, infer

        self.model, self.infer, self.url, self.session = Net(0.018, 0.001).eval(), infer, features, None

    async def features(self):
        import aiohttp

        self.session = self.session or aiohttp.ClientSession()
        async with self.session.get(self.url) as answer:
            return (await answer.json())["features"]

    async def __call__(self, request):
        features = await self.features()
        self.infer(self.model, torch.tensor(features)[None])
        return {"right": True}


if __name__ == "__main__":
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1]), "location": "HeadOnly"})
    serve.run(Fraud.bind(FEATURES), route_prefix="/predict")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
