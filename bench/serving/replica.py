"""The same trouble behind Ray Serve: python bench/serving/replica.py CASE PORT. See situations.py."""

import sys
import time

import ray
import torch
from ray import serve

CASE, PORT = sys.argv[1], int(sys.argv[2])


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2})
class Classifier:
    def __init__(self, case):
        from stoker.emulated import Device

        class Model(torch.nn.Module):
            def __init__(self, gpu):
                super().__init__()
                self.gpu, self.weight = gpu, torch.nn.Parameter(torch.zeros(8))

            def forward(self, batch):
                self.gpu.launch(0.030, "forward")
                self.gpu.synchronize(spin=False)
                return batch

        self.case, self.model = case, Model(Device(0)).eval()

    async def __call__(self, request):
        if self.case == "ray-preprocess":
            end, words = time.thread_time() + 0.060, []
            while time.thread_time() < end:  # so much of a core on any machine
                for i in range(30_000):  # the cause of ray-preprocess
                    words.append(i * 7 % 11)  # the cause of ray-preprocess
        self.model(torch.zeros(1, 3, 8, 8))
        return {"class": 0}


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config={"enable_metrics_collection": False})
    serve.start(http_options={"host": "127.0.0.1", "port": PORT, "location": "HeadOnly"})
    serve.run(Classifier.bind(CASE), route_prefix="/predict")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()
        ray.shutdown()
