#!/usr/bin/env python3
"""Which versions of Pillow, PyTorch, NumPy and Python `stoker feed --` feeds, with which loaders, and whether the batches
are those of the script alone. Everything comes as wheels from the package index.

    make build
    bench/loader/matrix.py                        # all of it: 4 environments of 3 to 6 GB, an hour of a quiet machine
    bench/loader/matrix.py --only 2.15.0 --pillow 12.0.0 13.0.0
    bench/loader/matrix.py --markdown             # also writes bench/loader/MATRIX.md

A row is one Python with one PyTorch and one Pillow. Its script runs twice, alone and fed, and iterates three loaders
over the same pictures: torch's, torchdata's StatefulDataLoader (with the state in mid-epoch, and what a loader that
takes it goes on with), and torchdata.nodes in processes. What the check at start-up left to the libraries is read from
its cache, which is new for each row.
"""

import argparse
import datetime
import glob
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

#: PyTorch, its torchvision, Python, NumPy, and the Pillows that are tried with it: old ones have wheels for old Pythons.
ENVIRONMENTS = (
    ("2.4.1", "0.19.1", "3.10", "1.26.4", ("10.0.1", "10.4.0", "12.0.0")),
    ("2.7.1", "0.22.1", "3.12", "2.3.5", ("11.3.0", "13.0.0")),
    ("2.10.0", "0.25.0", "3.13", "2.4.2", ("11.0.0", "12.0.0", "12.3.0")),
    ("2.15.0", "0.29.2", "3.11", "", ("10.0.1", "11.3.0", "12.0.0", "12.2.0", "13.0.0")),
)
TORCHDATA = "0.11.0"
PICTURES = 40


def main():
    options = parse()
    if options.cell:
        return run_cell(options.cell)
    os.makedirs(options.folder, exist_ok=True)
    rows, pictures = [], os.path.join(options.folder, "pictures")
    for torch, torchvision, python, numpy, pillows in ENVIRONMENTS:
        if options.only and torch not in options.only:
            continue
        try:
            interpreter = environment(options.folder, torch, torchvision, python, numpy)
            make_pictures(interpreter, pictures)
        except subprocess.CalledProcessError as error:
            rows.append([torch, "", python, "", "not to be had: " + last_line(error.stderr)])
            print(*rows[-1], sep=" | ", flush=True)
            continue
        for pillow in options.pillow or pillows:
            rows.append(row(options.folder, interpreter, torch, pillow, python, pictures))
            print(*rows[-1], sep=" | ", flush=True)
    if options.markdown:
        write(rows)
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "stoker-matrix"), help="where the environments are, and stay")
    parser.add_argument("--only", nargs="*", help="these versions of PyTorch")
    parser.add_argument("--pillow", nargs="*", help="these versions of Pillow")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    return parser.parse_args()


# Environments.


def uv(*arguments):
    found = subprocess.run([os.path.join(ROOT, "python", "install-torch"), "--uv"], capture_output=True, text=True, check=True)
    settings = {"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "UV_SYSTEM_CERTS": "1"}
    index = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "install-tool"), "--index"], capture_output=True, text=True).stdout.strip()
    settings |= {"UV_DEFAULT_INDEX": index} if index else {}
    subprocess.run([found.stdout.strip(), *arguments], env=settings | os.environ, capture_output=True, text=True, check=True)


def environment(folder, torch, torchvision, python, numpy):
    """A virtual environment with a PyTorch, made where it is not there; its interpreter."""
    place = os.path.join(folder, f"torch-{torch}-python-{python}")
    interpreter = os.path.join(place, "bin", "python")
    if not os.path.exists(os.path.join(place, "complete")):
        uv("venv", "--quiet", "--clear", "--python", python, place)
        wanted = [f"torch=={torch}", f"torchvision=={torchvision}", f"torchdata=={TORCHDATA}", f"numpy=={numpy}" if numpy else "numpy"]
        uv("pip", "install", "--quiet", "--python", interpreter, *wanted)
        open(os.path.join(place, "complete"), "w").close()
    return interpreter


def overlay(folder, interpreter, python, pillow):
    """A folder with one Pillow, before the environment's own on the path."""
    place = os.path.join(folder, f"pillow-{pillow}-python-{python}")
    if not os.path.exists(os.path.join(place, "PIL")):
        uv("pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--python", interpreter, "--target", place, f"pillow=={pillow}")
    return place


def make_pictures(interpreter, folder):
    """JPEGs and PNGs of all ordinary kinds, of noise and of what is smooth, once."""
    if os.path.exists(os.path.join(folder, "complete")):
        return
    subprocess.run([interpreter, "-c", _MAKE, folder, str(PICTURES)], check=True, capture_output=True, text=True)


_MAKE = """
import os, random, sys
from PIL import Image
folder, count = sys.argv[1], int(sys.argv[2])
chance = random.Random(5)
for number in range(count):
    home = os.path.join(folder, "ab"[number % 2])
    os.makedirs(home, exist_ok=True)
    size = 150 + 7 * (number % 11), 110 + 5 * (number % 13)
    small = Image.frombytes("RGB", (12, 9), chance.randbytes(12 * 9 * 3)).resize(size, 3)
    noise = Image.frombytes("RGB", size, chance.randbytes(3 * size[0] * size[1]))
    image = Image.blend(small, noise, (0.0, 0.1, 0.5)[number % 3])
    mode = ("RGB", "RGB", "RGB", "L")[number % 4]
    if number % 8 == 7:
        image.convert(("RGB", "RGBA")[number // 8 % 2]).save(os.path.join(home, f"{number:03}.png"))
    else:
        how = {"quality": (75, 90, 97)[number % 3], "subsampling": number % 3, "progressive": number % 5 == 1}
        image.convert(mode).save(os.path.join(home, f"{number:03}.jpg"), **how)
open(os.path.join(folder, "complete"), "w").close()
"""


# A row.


def row(folder, interpreter, torch, pillow, python, pictures):
    head = [torch, pillow, python]
    try:
        above = overlay(folder, interpreter, python, pillow)
    except subprocess.CalledProcessError as error:
        return [*head, "", "not to be had: " + last_line(error.stderr)]
    home = os.path.expanduser("~/.cache")  # what others can write to, as /tmp, is not believed
    os.makedirs(home, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as cache:
        settings = os.environ | {"PYTHONPATH": above, "XDG_CACHE_HOME": cache, "PYTHONPYCACHEPREFIX": os.path.join(folder, "pyc")}
        command = [interpreter, "-W", "ignore", os.path.abspath(__file__), "--cell", pictures]
        alone, fed = (
            subprocess.run([*before, *command], env=settings, capture_output=True, text=True)
            for before in ([], [os.path.join(ROOT, "bin", "stoker"), "feed", "--"])
        )
        left = [json.load(open(path))["left"] for path in glob.glob(os.path.join(cache, "stoker", "trials", "*"))]
    if alone.returncode:
        return [*head, "", "alone it fails: " + last_line(alone.stderr)]
    if fed.returncode:
        return [*head, "", "FAILS FED: " + last_line(fed.stderr)]
    told, same = json.loads(alone.stdout), json.loads(fed.stdout)
    equal = {name: told["digests"][name] == same["digests"][name] for name in told["digests"]}
    said = [line for line in fed.stderr.splitlines() if line.startswith("stoker: feed: ")]
    share = next((line.split("was done by Go: ")[1] for line in said if "was done by Go" in line), "nothing was fed")
    lines = [line.removeprefix("stoker: feed: ") for line in said if "was done by Go" not in line]
    refused = "; ".join(sorted({name for each in left for name in each})) if left else "no check"
    verdict = "equal" if all(equal.values()) else "DIFFERENT: " + ", ".join(name for name in equal if not equal[name])
    return [*head, told["numpy"], told["jpeg"], verdict, share, refused or "nothing", *lines]


def last_line(text):
    return (text or "").strip().splitlines()[-1][:160] if (text or "").strip() else "no word"


# A cell: in the environment, alone or fed.


def run_cell(pictures):
    import numpy
    import PIL.features
    import torch
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    torch.set_num_threads(1)
    steps = [transforms.RandomResizedCrop(48), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.3, 0.3, 0.3, 0.1)]
    steps += [transforms.RandomRotation(10), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    data = ImageFolder(pictures, transforms.Compose(steps))
    digests = {name: loader(data) for name, loader in (("torch", torch_batches), ("stateful", stateful_batches), ("nodes", node_batches))}
    turbo = PIL.features.version_feature("libjpeg_turbo") or "libjpeg"
    print(json.dumps({"digests": digests, "numpy": numpy.__version__, "jpeg": turbo}))


def digest(batch):
    images, labels = batch
    return hashlib.sha256(images.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()[:16]


def torch_batches(data):
    import torch

    torch.manual_seed(1)
    return [digest(batch) for batch in torch.utils.data.DataLoader(data, 8, shuffle=True, num_workers=2)]


def stateful_batches(data):
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    def make():
        torch.manual_seed(2)
        return StatefulDataLoader(data, 8, shuffle=True, num_workers=2)

    seen, loader = [], make()
    for number, batch in enumerate(loader):
        seen.append(digest(batch))
        if number == 1:
            state = loader.state_dict()
            break
    again = make()
    again.load_state_dict(state)
    return [*seen, hashlib.sha256(repr(state).encode()).hexdigest()[:16], *(digest(batch) for batch in again)]


class Batch:
    """Maps indices to a batch, each with random numbers of its own."""

    def __init__(self, data):
        self.data = data

    def __call__(self, indices):
        import torch

        torch.manual_seed(indices[0])
        random.seed(indices[0])
        return torch.utils.data.default_collate([self.data[index] for index in indices])


def node_batches(data):
    import torch
    import torchdata.nodes as nodes

    node = nodes.Batcher(nodes.SamplerWrapper(torch.utils.data.SequentialSampler(data)), 8, drop_last=False)
    return [digest(batch) for batch in nodes.Loader(nodes.ParallelMapper(node, Batch(data), num_workers=2, method="process"))]


def write(rows):
    head = "| PyTorch | Pillow | Python | NumPy | libjpeg-turbo | batches | by Go | left by the check | said |"
    lines = [
        "# Versions that are fed",
        "",
        "Written by `bench/loader/matrix.py --markdown`: three loaders (torch's DataLoader, torchdata's StatefulDataLoader with its state in",
        f"mid-epoch, torchdata.nodes {TORCHDATA} in processes) over {PICTURES} JPEGs and PNGs, alone and under `stoker feed --`. 'left by the check' is what",
        "the check at start-up found to differ from the installed libraries, and left to them.",
        "",
        f"{datetime.date.today()}, {os.uname().sysname} {os.uname().machine}, wheels of the package index.",
        "",
        head,
        "|" + "---|" * 9,
    ]
    for each in rows:
        cells = [*each[:8], "; ".join(each[8:])] if len(each) > 5 else [*each, "", "", "", ""]
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    with open(os.path.join(HERE, "MATRIX.md"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
