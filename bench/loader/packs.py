#!/usr/bin/env python3
"""Compares packs of a data set: size on disk, cost of reading, randomness of the order, a resume, and a
damaged byte: stoker's, FFCV's, MosaicML Streaming's, LitData's and WebDataset's.

    make build
    python3 -m venv /tmp/packs && echo $PWD/python/.venv/lib/python3.*/site-packages > /tmp/packs/lib/python3.*/site-packages/shared.pth
    /tmp/packs/bin/pip install webdataset litdata mosaicml-streaming
    apt-get install g++ pkg-config libturbojpeg0-dev libopencv-dev           # what FFCV is built with
    /tmp/packs/bin/pip install numba opencv-python-headless assertpy pandas psutil tqdm fastargs terminaltables setuptools wheel
    /tmp/packs/bin/pip install --no-deps --no-build-isolation ffcv
    /tmp/packs/bin/python bench/loader/packs.py --rounds 3            # the table, as Markdown

Each contestant runs in separate processes: an epoch that warms up, then one whose processor time counts, with one
worker, RandomResizedCrop(224), flip and Normalize. order: how far a sample comes from its place in the pack, on the mean,
as a share of the data set; of a true permutation it is 0.333. resume: the state after three batches is given to a new
loader, and what both had is counted. two ranks: the same state is given to two processes of a world of two. byte: one of
a picture in the pack is flipped, and an epoch is read. A folder is its files, read by torch's loader, unfed.
"""

import argparse
import io
import json
import os
import pickle
import random
import shutil
import statistics
import socket
import subprocess
import sys
import tempfile

import account

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(ROOT, "bin", "stoker")
IMAGES, BATCH, TAKEN = int(os.environ.get("PACKS_IMAGES", 240)), 20, 3
PATIENCE = 600  # seconds for a contestant's round: FFCV compiles for half a minute, five times
sys.path.insert(0, os.path.join(ROOT, "python"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS))
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        return run_rank(*options.rank)
    if options.run:
        return run(*options.run)
    print(f"{IMAGES} JPEGs of 500x375, {options.rounds} rounds in turn, load average {os.getloadavg()[0]:.1f} at the beginning\n")
    print("| pack | MB on disk | CPU-ms an image, median (lowest-highest) | order | resume after 3 batches | on two ranks | a flipped byte |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as folder:
        write_pictures(os.path.join(folder, "train"))
        found = {}
        for number in range(options.rounds):
            for name in options.only:
                found.setdefault(name, []).append(once(name, str(number), folder))
                if number + 1 == options.rounds:
                    print(row(name, found[name]), flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end")
    return 0


def row(name, rounds):
    costs = [each["cost"] for each in rounds if isinstance(each.get("cost"), float)]
    cost = f"{statistics.median(costs):.2f} ({min(costs):.2f}-{max(costs):.2f})" if costs else rounds[0].get("cost", "")
    said = {what: str(rounds[0].get(what, "")) for what in ("write", "order", "resume", "ranks", "byte")}
    return "| " + " | ".join([name, said.pop("write"), cost, *said.values()]) + " |"


def once(name, number, folder):
    with account.Group() as group:
        settings = os.environ | group.environment() | {"PYTHONWARNINGS": "ignore", "STOKER_BIN": BINARY}
        command = [sys.executable, os.path.abspath(__file__), "--run", name, number, folder]
        try:
            done = subprocess.run(command, env=settings, capture_output=True, text=True, preexec_fn=group.enter, timeout=PATIENCE)
        except subprocess.TimeoutExpired as late:
            lines = [line for line in (late.stdout or b"").decode().splitlines() if line.startswith("{")]
            return (json.loads(lines[-1]) if lines else {}) | {"byte": f"ended after {PATIENCE} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"cost": "ended: " + (done.stderr.strip().splitlines() or ["no word"])[-1][:90].replace("|", "/")}


def write_pictures(folder):
    from PIL import Image

    chance = random.Random(1)
    for number in range(IMAGES):  # a class each, so that a label is a sample
        os.makedirs(os.path.join(folder, f"{number:04}"))
        small = Image.frombytes("RGB", (50, 38), chance.randbytes(50 * 38 * 3)).resize((500, 375), Image.Resampling.BICUBIC)
        small.save(os.path.join(folder, f"{number:04}", "0.jpg"), quality=92)


# In a separate process.


def run(name, number, folder):
    import torch

    torch.set_num_threads(1)
    write, begin, at = CONTESTANTS[name]
    home, found = os.path.join(folder, at), {}
    parts = {"cost": cost} if number != "0" else {"write": None, "cost": cost, "order": order, "resume": resume, "ranks": on_two_ranks, "byte": try_flipped}
    for what, part in parts.items():
        try:
            if what == "write":
                write(os.path.join(folder, "train"), home)
                size = sum(os.path.getsize(os.path.join(d, file)) for d, _, files in os.walk(home) for file in files)
                found[what] = f"{size / 1e6:.1f}"
            else:
                found[what] = part(begin, home) if part is not on_two_ranks else part(name, begin, home)
        except Exception as error:
            found[what] = f"{type(error).__name__}: {str(error)[:110]}".replace("|", "/").replace("\n", " ").replace(home, "PACK")
        print(json.dumps(found), flush=True)
    return 0


def cost(begin, home):
    loader, _ = begin(home)
    list(map(len, loader))
    before = account.cpu_seconds()
    list(map(len, loader))
    return 1000 * (account.cpu_seconds() - before) / IMAGES


def order(begin, home):
    seen = labels_of(begin(home)[0])
    return f"{statistics.mean(abs(place - label) for place, label in enumerate(seen)) / IMAGES:.3f}"


def resume(begin, home):
    loader, state = begin(home)
    if state is None:
        return "no state"
    had = labels_of(loader, TAKEN)
    rest = labels_of(begin(home, state(loader))[0])
    return compare_labels(had, rest)


def compare_labels(had, rest):
    """Labels before and behind a resume, with those that there are."""
    seen = {*had, *rest}
    return f"{len(had) + len(rest) - len(seen)} twice, {IMAGES - len(seen)} lost"


def on_two_ranks(name, begin, home):
    """The state of one process is given to two, which are started together."""
    loader, state = begin(home)
    if state is None:
        return "no state"
    had, file = labels_of(loader, TAKEN), home + ".state"
    with open(file, "wb") as opened:
        pickle.dump(state(loader), opened)
    del loader
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ranks = []
    for rank in "01":
        world = {"WORLD_SIZE": "2", "RANK": rank, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2", "GLOBAL_RANK": rank, "NNODES": "1"}
        settings = os.environ | world | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        command = [sys.executable, os.path.abspath(__file__), "--rank", name, home, file]
        ranks.append(subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    ended = [rank.communicate() for rank in ranks]
    for out, err in ended:
        if not out.strip():
            return "ended: " + (err.strip().splitlines() or ["no word"])[-1][:110].replace("|", "/")
    rest = [label for out, _ in ended for label in json.loads(out.splitlines()[-1])]
    return compare_labels(had, rest)


def run_rank(name, home, file):
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    with open(file, "rb") as opened:
        state = pickle.load(opened)
    found = labels_of(CONTESTANTS[name][1](home, state)[0])
    print("\n" + json.dumps(found), flush=True)
    return 0


def try_flipped(begin, home):
    flip(home)
    try:
        seen = labels_of(begin(home)[0])
    finally:
        flip(home)  # as it was, for the rounds to come
    return f"nothing said, {len(set(seen))} of {IMAGES} read"


def labels_of(loader, most=None):
    found = []
    for number, batch in enumerate(loader):
        found += [int(label) for label in batch[1]]
        if number + 1 == most:
            break
    return found


def flip(home):
    """A byte of a picture in the largest file."""
    file = max((os.path.join(d, f) for d, _, files in os.walk(home) for f in files), key=os.path.getsize)
    with open(file, "r+b") as opened:
        opened.seek(int(0.37 * os.path.getsize(file)))
        byte = opened.read(1)[0]
        opened.seek(-1, os.SEEK_CUR)
        opened.write(bytes([byte ^ 0x55]))


def transform():
    from torchvision import transforms

    chain = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    return transforms.Compose([*chain, transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])


def decode(data):
    from PIL import Image

    return Image.open(io.BytesIO(data)).convert("RGB")


def files_of(train):
    for number, name in enumerate(sorted(os.listdir(train))):
        with open(os.path.join(train, name, "0.jpg"), "rb") as file:
            yield number, file.read()


def write_stoker(*flags):
    def write(train, home):
        subprocess.run([BINARY, "pack", train, "-o", home, "--shard-size", "4MB", *flags], check=True, capture_output=True)

    return write


def begin_stoker(home, state=None):
    import stoker

    loader = stoker.DataLoader(stoker.Pack(home, transform()), BATCH, shuffle=True, num_workers=1, seed=1)
    if state is not None:
        loader.load_state_dict(state)
    return loader, lambda loader: loader.state_dict()


def write_folder(train, home):
    shutil.copytree(train, home)  # one of its bytes is flipped


def begin_folder(home, state=None):
    import torch
    from torchvision.datasets import ImageFolder

    generator = torch.Generator().manual_seed(1)
    return torch.utils.data.DataLoader(ImageFolder(home, transform()), BATCH, shuffle=True, num_workers=1, generator=generator), None


def write_ffcv(mode):
    def write(train, home):
        from ffcv.fields import IntField, RGBImageField
        from ffcv.writer import DatasetWriter
        from torchvision.datasets import ImageFolder

        os.makedirs(home)
        fields = {"image": RGBImageField(write_mode=mode, jpeg_quality=92, max_resolution=256 if mode == "raw" else None), "label": IntField()}
        DatasetWriter(os.path.join(home, "train.beton"), fields, num_workers=1).from_indexed_dataset(ImageFolder(train))

    return write


def begin_ffcv(home, state=None):
    import numpy
    from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage

    mean, std = (255 * numpy.array(each) for each in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    change = [RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip(), NormalizeImage(mean, std, numpy.float32)]
    pipelines = {"image": [*change, ToTensor(), ToTorchImage()], "label": [IntDecoder(), ToTensor()]}
    order = OrderOption.RANDOM
    return Loader(os.path.join(home, "train.beton"), BATCH, num_workers=1, order=order, seed=1, drop_last=False, pipelines=pipelines), None


def write_webdataset(train, home):
    import webdataset

    os.makedirs(home)
    with webdataset.ShardWriter(os.path.join(home, "%06d.tar"), maxsize=4e6, verbose=0) as writer:
        for number, data in files_of(train):
            writer.write({"__key__": f"{number:06}", "jpg": data, "cls": number})


def begin_webdataset(home, state=None):
    import torch
    import webdataset

    change, shards = transform(), sorted(os.path.join(home, name) for name in os.listdir(home))
    data = webdataset.WebDataset(shards, shardshuffle=len(shards), seed=1).shuffle(100).to_tuple("jpg", "cls")
    data = data.map_tuple(lambda data: change(decode(data)), int)
    return torch.utils.data.DataLoader(data, BATCH, num_workers=1), None


class Sample:
    """What LitData calls in its own processes."""

    def __init__(self, train):
        self.train = train

    def __call__(self, number):
        with open(os.path.join(self.train, f"{number:04}", "0.jpg"), "rb") as file:
            return {"jpg": file.read(), "cls": number}


class Change:
    def __init__(self):
        self.change = transform()

    def __call__(self, sample):
        return self.change(decode(sample["jpg"])), sample["cls"]


def write_litdata(train, home):
    import litdata

    litdata.optimize(Sample(train), list(range(IMAGES)), output_dir=home, chunk_bytes="4MB", num_workers=1)


def begin_litdata(home, state=None):
    import litdata

    data = litdata.StreamingDataset(home, shuffle=True, seed=1, transform=Change())
    loader = litdata.StreamingDataLoader(data, batch_size=BATCH, num_workers=1)
    if state is not None:
        loader.load_state_dict(state)
    return loader, lambda loader: loader.state_dict()


def write_streaming(train, home):
    import streaming

    with streaming.MDSWriter(out=home, columns={"jpg": "bytes", "cls": "int"}, size_limit="4mb", hashes=["xxh64"]) as writer:
        for number, data in files_of(train):
            writer.write({"jpg": data, "cls": number})


def begin_streaming(home, state=None):
    import streaming

    streaming.base.util.clean_stale_shared_memory()

    class Pictures(streaming.StreamingDataset):
        change = transform()

        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return self.change(decode(sample["jpg"])), sample["cls"]

    data = Pictures(local=home, shuffle=True, shuffle_seed=1, batch_size=BATCH, num_canonical_nodes=1, validate_hash="xxh64")
    loader = streaming.StreamingDataLoader(data, batch_size=BATCH, num_workers=1)
    if state is not None:
        loader.load_state_dict(state)
    return loader, lambda loader: loader.state_dict()


CONTESTANTS = {
    "folder of files (torch)": (write_folder, begin_folder, "folder"),
    "stoker pack": (write_stoker(), begin_stoker, "stoker"),
    "stoker pack --resize 256": (write_stoker("--resize", "256"), begin_stoker, "stoker-256"),
    "stoker pack --decoded --resize 256": (write_stoker("--decoded", "--resize", "256"), begin_stoker, "stoker-decoded"),
    "FFCV, JPEG": (write_ffcv("jpg"), begin_ffcv, "ffcv"),
    "FFCV, pixels, at most 256": (write_ffcv("raw"), begin_ffcv, "ffcv-raw"),
    "MosaicML Streaming": (write_streaming, begin_streaming, "streaming"),
    "LitData": (write_litdata, begin_litdata, "litdata"),
    "WebDataset": (write_webdataset, begin_webdataset, "webdataset"),
}

if __name__ == "__main__":
    sys.exit(main())
