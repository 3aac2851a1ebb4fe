"""Pictures on a Ray cluster's CPUs: stoker.Decode, torchvision in map_batches, and Ray's own read_images, in turn.

    python bench/loader/ray_data.py [--images 2048] [--rounds 10] [--workers 2]

needs a Python with stoker, ray[data], torchvision; STOKER_BIN. Prints one JSON object: images/s of each turn, core seconds of the whole machine
(others' too: it should be quiet), and whether the tensors were the same. read_images decodes without the transform's crop and normalisation.
"""

import argparse
import hashlib
import io
import json
import os
import tempfile
import time

import ray
from PIL import Image
from torchvision import transforms

from bucket import pictures

import stoker

TRANSFORM = transforms.Compose(
    [transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
)


class Plain:
    """The transform that stoker.Decode replaces."""

    def __call__(self, batch):
        import torch

        torch.set_num_threads(1)  # else its threads and Ray's workers fight for the cores
        made = [TRANSFORM(Image.open(io.BytesIO(data)).convert("RGB")) for data in batch["bytes"]]
        return {"path": batch["path"], "image": torch.stack(made).numpy()}


class Decode(stoker.Decode):
    """With one thread of torch as well."""

    def __init__(self):
        import torch

        torch.set_num_threads(1)
        super().__init__(TRANSFORM)


def cores():
    with open("/proc/stat") as file:
        fields = [int(x) for x in file.readline().split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def turn(way, root, workers):
    if way == "read_images":
        data = ray.data.read_images(root, mode="RGB", include_paths=True)
    else:
        data = ray.data.read_binary_files(root, include_paths=True).map_batches(Decode if way == "stoker" else Plain, batch_size=32, concurrency=workers)
    began, used, count, sums = time.monotonic(), cores(), 0, {}
    for batch in data.iter_batches(batch_size=32, batch_format="numpy"):
        for path, image in zip(batch["path"], batch["image"], strict=True):
            sums[path] = hashlib.sha256(image.tobytes()).hexdigest()
        count += len(batch["path"])
    seconds = time.monotonic() - began
    digest = hashlib.sha256("".join(path + sums[path] for path in sorted(sums)).encode()).hexdigest()
    return {"way": way, "images": count, "images_per_s": round(count / seconds, 1), "core_s": round(cores() - used, 2), "digest": digest}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    o = parser.parse_args()
    ray.init(num_cpus=o.workers + 1, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    with tempfile.TemporaryDirectory() as root:
        pictures(root, o.images)
        runs = [dict(turn(way, root, o.workers), round=n) for n in range(o.rounds) for way in ("stoker", "torchvision", "read_images")]
    alike = len({run["digest"] for run in runs if run["way"] != "read_images"}) == 1
    print(json.dumps({"workers": o.workers, "same_bits": alike, "runs": runs}, indent=1))
    raise SystemExit(not alike)


if __name__ == "__main__":
    main()
