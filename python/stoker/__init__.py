"""Stoker's Python client: the loader, the verbs and the emulated device.

Importing it needs only the standard library and starts nothing. The loader replaces torch's
DataLoader; the binary decodes and augments its images (docs/loader.md)::

    loader = stoker.DataLoader(ImageFolder("data/train", transform), batch_size=64, shuffle=True)
    for images, labels in loader: ...

`stoker.Loader` is the same for any framework, with NumPy arrays. Both also read a folder that
`stoker pack` wrote, by its path or as `stoker.Pack(path, transform)`. The verbs call the binary and
return its JSON::

    import stoker
    verdict = stoker.diagnose("stoker-runs/2026-11-21T101500-train.jsonl.gz")
    print(verdict["verdict"]["class"], verdict["verdict"]["stall"])

`TransformationModel` and `DataModel` need no run::

    answer = stoker.TransformationModel().solve(
        batch_size=256, sample_size="500 KB", cpu_throughput="2 GB/s", accelerator_step_time="11.74 ms")
    print(answer.accelerator_utilization, answer.slowdown_factor)

`predict` covers a whole job, with its workers, storage and link::

    answer = stoker.predict(gpu="h100-sxm", model="resnet50", batch=256, workers=8, cores=16, storage="nvme")
    print(answer["prediction"]["utilization"], answer["prediction"]["binds"])

`count` describes your own network to it, from a torch.nn.Module::

    answer = stoker.predict(gpu="h100-sxm", batch=256, **stoker.count(model, torch.empty(1, 3, 224, 224)))

`feed` lets the daemon decode the pictures of any other loader; batches stay the same bit by bit.
With the address of a Ray cluster, the loaders' workers run there::

    stoker.feed()
    stoker.feed(ray="auto", workers=32)

`Decode` does this for Ray Data, from the bytes of pictures::

    ray.data.read_binary_files("s3://...").map_batches(stoker.Decode(transform), batch_size=64)

`watch` lets `stoker observe` time input that it does not recognize::

    for batch in stoker.watch(batches): ...

`figures` returns what `stoker observe --log figures` found so far, for a trainer to log. Hugging
Face's Trainer takes `TrainerCallback`, Lightning finds its own callback, and `%load_ext stoker`
gives a notebook the magic `%%stoker`::

    trainer = Trainer(..., callbacks=[stoker.TrainerCallback()])
    accelerator.log({"loss": loss, **stoker.figures()}, step=step)

`stoker.emulated` is a device with a queue for machines without a GPU.
"""

from typing import TYPE_CHECKING, Any

from ._figures import figures
from ._verbs import StokerError, advise, diagnose, find_binary, predict, trace, verify
from ._warning import StokerWarning
from ._watch import watch

# The one place of the version: the binary, the wheel and the packages are built with it.
__version__ = "0.1.0"

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ._count import count
    from ._models import DataModel, DataSupply, Transformation, TransformationModel
    from .deferred.decode import Decode
    from .deferred.deferring import enable as feed
    from .loader.batches import Batch, Loader
    from .loader.dataloader import DataLoader
    from .loader.pack import Pack

    TrainerCallback: type

__all__ = [
    "Batch",
    "DataLoader",
    "DataModel",
    "Decode",
    "DataSupply",
    "Loader",
    "Pack",
    "StokerError",
    "StokerWarning",
    "TrainerCallback",
    "Transformation",
    "TransformationModel",
    "advise",
    "count",
    "diagnose",
    "feed",
    "figures",
    "find_binary",
    "predict",
    "trace",
    "verify",
    "watch",
]


def __getattr__(name: str) -> Any:
    """Import what takes long only when it is first asked for. The loaders need NumPy, DataLoader
    torch."""
    if name in ("Batch", "Loader"):
        from .loader import batches as module
    elif name in ("DataModel", "DataSupply", "Transformation", "TransformationModel"):
        from . import _models as module
    elif name == "Decode":
        from .deferred import decode as module
    elif name == "Pack":
        from .loader import pack as module
    elif name == "count":
        from . import _count as module
    elif name == "DataLoader":
        from .loader import dataloader as module
    elif name == "feed":
        from .deferred.deferring import enable

        return enable
    elif name == "TrainerCallback":
        from ._callbacks import trainer_callback

        globals()[name] = trainer_callback()
        return globals()[name]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(module, name)


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """`%load_ext stoker`: the magic `%%stoker`."""
    from ._notebook import load

    load(shell)
