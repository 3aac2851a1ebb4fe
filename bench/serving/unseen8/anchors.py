"""Where should a ship anchor? Ray Serve, and an actor that knows the register of ships."""

import os
import sys
import time

import ray
import torch
from ray import serve

REGISTER = os.environ.get("SERVICE_URL", "") + "/ships"


@ray.remote(num_cpus=0.1, max_concurrency=8)
class Register:
    """Ships, as their register tells."""

    def __init__(self, url):
        import requests

        self.url, self.session = url, requests.Session()

    def ship(self, number):
        return self.session.get(f"{self.url}/{number}", timeout=5).json()["ship"]


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=16)
class Anchors:
    def __init__(self, register):
        from parts import Net, infer

        torch.set_num_threads(1)
        self.model, self.infer, self.register = Net(0.028, 0.001).eval(), infer, register

    async def __call__(self, request):
        asked = await request.json()
        ship = ray.get(self.register.ship.remote(asked.get("ship", 9074729)))
        out = self.infer(self.model, torch.full((1, 8), ship["draught"]))
        return {"berth": "roads 4", "depth": float(out.mean())}


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1]), "location": "HeadOnly"})
    serve.run(Anchors.bind(Register.remote(REGISTER)), route_prefix="/anchors")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
