"""Parts of a vLLM server whose trouble is known: a worker whose device is emulated, and a slow logits processor.

    vllm serve FOLDER --worker-cls engine.Worker --logits-processors engine:Penalty     # with this folder on PYTHONPATH

STOKER_BENCH_PASS is what a pass takes on the device, and STOKER_BENCH_REQUEST what each of its requests adds, in seconds.
"""

import os

from vllm.v1.sample.logits_processor import LogitsProcessor
from vllm.v1.worker.cpu_worker import CPUWorker

from stoker.emulated import Device

PASS_S, REQUEST_S = (float(os.environ.get("STOKER_BENCH_" + name, 0)) for name in ("PASS", "REQUEST"))


class Worker(CPUWorker):
    """vLLM's worker for the CPU. Its tiny model's answer is there once the emulated device has computed."""

    def load_model(self, *args, **kwargs):
        self.gpu = Device(0)
        return super().load_model(*args, **kwargs)

    def execute_model(self, scheduler_output):
        requests = len(scheduler_output.num_scheduled_tokens)
        if requests:
            self.gpu.launch(PASS_S + REQUEST_S * requests, "forward")
        output = super().execute_model(scheduler_output)
        self.gpu.synchronize(spin=False)
        return output


class Penalty(LogitsProcessor):
    """A penalty that is worked out in Python, for each request and token."""

    def __init__(self, vllm_config, device, is_pin_memory):
        pass

    def is_argmax_invariant(self):
        return False

    def update_state(self, batch_update):
        pass

    def apply(self, logits):
        for row in logits:
            weights = []
            for i in range(60_000):  # the cause of vllm-sampler
                weights.append(i % 7 * 0.1)  # the cause of vllm-sampler
            row[0] -= sum(weights[:10])
        return logits
