#!/usr/bin/env python3
"""The same pictures, prepared away from the trainer by stoker feed --ray, Ray Data and tf.data service, in turn.

    python/.venv/bin/python bench/loader/disaggregated.py --tensorflow /tmp/tf/bin/python --rounds 3

Each reads the photos of remote.py: a file, a random crop to 224, a flip, float32 in a batch of 32. tf.data service is left out
without a Python that has tensorflow-cpu and Pillow. Of two epochs the second counts. The trainer's node is its process, and Ray's
own processes of the node that has no core. tf.data's dispatcher and worker count elsewhere, as Ray's other nodes do.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WORKERS, BATCH, TIMES = 4, 32, 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="a Python that has it")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    import remote

    ways = ["stoker feed --ray", "Ray Data", *(["tf.data service"] if arguments.tensorflow else [])]
    found = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        remote.prepare()
        with remote.cluster(WORKERS, remote.BIG_STORE) as (own, _):
            for _ in range(arguments.rounds):
                for way in ways:
                    found[way].append(play(way, own, arguments.tensorflow, remote))
                    print(json.dumps({"way": way, "load": os.getloadavg()[0], **found[way][-1]}), flush=True)
        os.chdir(remote.ROOT)
    for way, rounds in found.items():
        rate = statistics.median(each["batches"] / each["seconds"] for each in rounds)
        cost = [1000 * (each["trainer"] + each["Ray"]) / each["batches"] for each in rounds]
        print(f"| {way} | {rate:.1f} | {statistics.median(cost):.0f} ({min(cost):.0f} to {max(cost):.0f}) |")


def play(way, own, tensorflow, remote):
    if way == "stoker feed --ray":
        told = remote.time_epoch("photos", WORKERS, own.address, own.head_node)
        used = told.pop("used")
        return {**told, "trainer": used["trainer"], "Ray": used["Ray"]}
    if way == "Ray Data":
        return watch([sys.executable, "-W", "ignore", __file__, "ray", own.address], remote.processes_of(own.head_node), remote)
    server = subprocess.Popen([tensorflow, __file__, "serve"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        return watch([tensorflow, __file__, "tensorflow", server.stdout.readline().strip()], [], remote)
    finally:
        server.kill()
        server.wait()


def watch(command, rays, remote):
    """Run a trainer of two epochs, which prints a line after each; returns what the second cost."""
    script = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    looks, told = [], []
    for line in script.stdout:
        if line.startswith("{"):
            told.append(json.loads(line))
            looks.append((remote.cpu_of(script.pid), sum(map(remote.cpu_of, rays))))
    if script.wait() or len(told) != 2:
        raise SystemExit(f"{command}: exit code {script.returncode}")
    trainer, ray = (after - before for before, after in zip(*looks))
    return {**told[1], "trainer": trainer, "Ray": ray}


def tell(batches):
    begun, count = time.perf_counter(), 0
    for _ in batches:
        count += 1
    print(json.dumps({"batches": count, "seconds": time.perf_counter() - begun}), flush=True)
    time.sleep(1)  # others look at the CPU that it has used


def files():
    return [os.path.abspath(f"photos/a/{number}.jpg") for number in range(12)] * TIMES


class Prepare:
    """Ray Data's workers call it with a batch of file names."""

    def __init__(self):
        import torch
        from torchvision import transforms as T

        torch.set_num_threads(1)
        self.transform = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor()])

    def __call__(self, batch):
        import torch
        from PIL import Image

        return {"x": torch.stack([self.transform(Image.open(name).convert("RGB")) for name in batch["item"]]).numpy()}


def train_ray(address):
    import ray

    ray.init(address, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    for _ in range(2):
        rows = ray.data.from_items(files(), override_num_blocks=len(files()) // BATCH).randomize_block_order()
        made = rows.map_batches(Prepare, batch_size=BATCH, concurrency=WORKERS)
        tell(made.iter_torch_batches(batch_size=BATCH))


def serve():
    import tensorflow as tf

    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    print(address, flush=True)
    worker.join()


def train_tensorflow(address):
    import tensorflow as tf

    def prepare(name):
        data = tf.io.read_file(name)
        whole = tf.zeros([0, 0, 4])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(data), whole, aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1), use_image_if_no_bounding_boxes=True
        )
        window = tf.concat([begin[:2], size[:2]], 0)
        cut = tf.image.resize(tf.io.decode_and_crop_jpeg(data, window, channels=3), (224, 224))
        return tf.transpose(tf.image.random_flip_left_right(cut) / 255, (2, 0, 1))

    rows = tf.data.Dataset.from_tensor_slices(files()).shuffle(len(files())).map(prepare, num_parallel_calls=WORKERS).batch(BATCH)
    away = tf.data.experimental.service.distribute(tf.data.experimental.service.ShardingPolicy.OFF, f"grpc://{address}", data_transfer_protocol="grpc")
    for _ in range(2):
        tell(rows.apply(away))


if __name__ == "__main__":
    if sys.argv[1:2] == ["ray"]:
        train_ray(sys.argv[2])
    elif sys.argv[1:2] == ["serve"]:
        serve()
    elif sys.argv[1:2] == ["tensorflow"]:
        train_tensorflow(sys.argv[2])
    else:
        main()
