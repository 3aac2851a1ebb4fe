"""Stoker's Python client: the emulated device and the verbs.

It needs nothing but the standard library and starts nothing by itself. The
verbs call the binary and return its JSON::

    import stoker
    verdict = stoker.diagnose("stoker-runs/2026-11-21T101500-train.jsonl.gz")
    print(verdict["verdict"]["class"], verdict["verdict"]["stall"])

`TransformationModel` and `DataModel` answer without any run::

    answer = stoker.TransformationModel().solve(
        batch_size=256, sample_size="500 KB", cpu_throughput="2 GB/s", accelerator_step_time="11.74 ms")
    print(answer.accelerator_utilization, answer.slowdown_factor)

`predict` answers for a whole job, with its workers, storage and link::

    answer = stoker.predict(gpu="h100-sxm", model="resnet50", batch=256, workers=8, cores=16, storage="nvme")
    print(answer["prediction"]["utilization"], answer["prediction"]["binds"])

`stoker.emulated` is a device with a queue for machines without a GPU.
"""

from ._models import DataModel, DataSupply, Transformation, TransformationModel
from ._verbs import StokerError, advise, diagnose, find_binary, predict, trace, verify

__all__ = [
    "DataModel",
    "DataSupply",
    "StokerError",
    "Transformation",
    "TransformationModel",
    "advise",
    "diagnose",
    "find_binary",
    "predict",
    "trace",
    "verify",
]
