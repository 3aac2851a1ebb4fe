"""A text read aloud by one of three voices, each a model of its own. Ray Serve, multiplexed."""

import itertools
import os
import sys
import time

import ray
from ray import serve

VOICES = ("anna", "bruno", "carla")


class Voice:
    """A model in the device's memory."""

    def __init__(self, name, gigabytes):
        import torch
        from parts import Net, device

        self.name, self.net, self.input = name, Net(0.030, 0.001).eval(), torch.zeros(1, 8)
        device().copy(int(gigabytes * 1e9))

    def read(self, text):
        from parts import infer

        infer(self.net, self.input)
        return len(text) * 640


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=8)
class Reader:
    def __init__(self):
        self.turn = itertools.cycle(VOICES)

    @serve.multiplexed(max_num_models_per_replica=1)
    async def voice(self, name):
        return Voice(name, 1.4)

    async def __call__(self, request):
        asked = await request.json()
        voice = await self.voice(asked.get("voice") or next(self.turn))
        return {"voice": voice.name, "samples": voice.read(asked.get("text", "once upon a time"))}


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1]), "location": "HeadOnly"})
    serve.run(Reader.bind(), route_prefix="/read")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
