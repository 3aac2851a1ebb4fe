"""The same pictures from a folder and from a bucket of a store on loopback: bytes, seconds, and what the store was asked.

    python bench/loader/bucket.py [--images 512] [--rounds 3] [--store http://127.0.0.1:9000]

needs a Python with stoker, NumPy, Pillow and boto3. Without --store it starts moto (moto[server], a store by others that answers like
AWS's and checks no signature); with it, the store there is asked, with the keys and the region of AWS's variables. Turns are: the folder, the
bucket with an empty cache, the bucket with a full one. Prints one JSON object.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

CHILD = """
import hashlib, json, sys, time
import stoker
began = time.monotonic()
digest = hashlib.sha256()
ops = [{"op": "resize", "size": [224, 224]}, {"op": "pil_to_tensor"}]
with stoker.Loader(sys.argv[1], ops, batch_size=32, shuffle=True, seed=3) as loader:
    first = None
    for images, labels in loader:
        first = first or time.monotonic() - began
        digest.update(images.tobytes()); digest.update(labels.tobytes())
print(json.dumps({"seconds": time.monotonic() - began, "first": first, "digest": digest.hexdigest()}))
"""


def pictures(folder, count):
    import numpy
    from PIL import Image

    chance = numpy.random.default_rng(1)
    for i in range(count):
        small = chance.integers(0, 255, (24, 32, 3), dtype=numpy.uint8)
        place = os.path.join(folder, "class%d" % (i % 8))
        os.makedirs(place, exist_ok=True)
        Image.fromarray(small).resize((500, 375), Image.BICUBIC).save(os.path.join(place, "%05d.jpg" % i), quality=90)


def serve():
    """A store, and its address once it answers."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = "http://127.0.0.1:%d" % port
    while server.poll() is None:
        try:
            urllib.request.urlopen(address + "/moto-api/", timeout=5).close()
            return server, address
        except OSError:
            time.sleep(0.1)
    raise SystemExit("moto ended: pip install 'moto[server]'")


def main():
    import boto3

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", help="of which the bucket stoker-bench is made, filled and emptied")
    o = parser.parse_args()
    server, address = (None, o.store) if o.store else serve()
    try:
        with tempfile.TemporaryDirectory() as folder:
            root = os.path.join(folder, "train")
            pictures(root, o.images)
            os.environ["AWS_ENDPOINT_URL"] = address
            if server:
                os.environ.update(AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing", AWS_DEFAULT_REGION="us-east-1")
            store = boto3.client("s3")
            store.create_bucket(Bucket="stoker-bench")
            for place, _, names in os.walk(root):
                for name in names:
                    path = os.path.join(place, name)
                    store.upload_file(path, "stoker-bench", os.path.relpath(path, folder))
            runs = []
            for n in range(o.rounds):
                cache = {"STOKER_CACHE_DIR": os.path.join(folder, "cache%d" % n)}
                for way, where in (("folder", root), ("bucket, empty cache", "s3://stoker-bench/train"), ("bucket, full cache", "s3://stoker-bench/train")):
                    out = subprocess.run([sys.executable, "-c", CHILD, where], env={**os.environ, **cache}, check=True, capture_output=True, text=True)
                    runs.append({"way": way, "round": n, **json.loads(out.stdout)})
            alike = len({run["digest"] for run in runs}) == 1
            for each in store.get_paginator("list_objects_v2").paginate(Bucket="stoker-bench").search("Contents[].Key"):
                store.delete_object(Bucket="stoker-bench", Key=each)
            store.delete_bucket(Bucket="stoker-bench")
            print(json.dumps({"images": o.images, "same_bytes": alike, "runs": runs}, indent=1))
            sys.exit(not alike)
    finally:
        if server:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
