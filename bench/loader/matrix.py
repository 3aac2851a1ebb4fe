#!/usr/bin/env python3
"""Which versions of Pillow, PyTorch, NumPy and Python `stoker feed --` feeds, with which loaders, and whether the batches
are those of the script alone. Everything comes from the package index, as wheels but for pillow-simd, which has none.

    make build
    bench/loader/matrix.py --markdown matrix.md   # all rows, and a table of them: 14 GB with uv's cache, half an hour
    bench/loader/matrix.py --only 2.15.0 --python 3.14 --pillow 12.0.0 13.0.0

A row is one Python with one PyTorch and one Pillow. Its script runs twice, alone and fed, and iterates five loaders over
the same pictures, each with other transforms: torch's, torchdata's StatefulDataLoader (with the state in mid-epoch, and
the batches of a loader that loads it), torchdata.nodes in processes, Accelerate's (over torch's and over torchdata's)
and Lightning's. What the check at start-up left to the libraries is read from its cache, which is new for each row.

Rows are kept in the folder, so that several calls make one table. An environment is deleted behind its rows (--keep).
uv installs a Python that is not on PATH, if it can. pillow-simd is built: it wants gcc and the headers of libjpeg and zlib.
"""

import argparse
import datetime
import glob
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

#: PyTorch, its torchvision, Python, NumPy, and the Pillows that are tried with it. Each version of each kind is there
#: once at least, with partners of its time; all combinations would be 500 rows.
ENVIRONMENTS = (
    ("2.4.1", "0.19.1", "3.10", "1.26.4", ("10.0.1", "10.4.0")),
    ("2.7.1", "0.22.1", "3.12", "2.3.5", ("11.3.0", "12.2.0")),
    ("2.10.0", "0.25.0", "3.13", "", ("11.0.0", "12.3.0")),
    ("2.15.0", "0.29.2", "3.11", "1.26.4", ("12.0.0", "13.0.0", "simd-12.1.1.post0")),
    ("2.15.0", "0.29.2", "3.14", "", ("13.0.0",)),
)
WITH = ("torchdata==0.11.0", "accelerate==1.15.0", "lightning==2.6.6")
PICTURES = 40


def main():
    options = parse()
    if options.cell:
        return run_cell(options.cell)
    os.makedirs(options.folder, exist_ok=True)
    pictures = os.path.join(options.folder, "pictures")
    for torch, torchvision, python, numpy, pillows in ENVIRONMENTS:
        wanted = [each for each in pillows if not options.pillow or each in options.pillow]
        if options.only and torch not in options.only or options.python and python not in options.python or not wanted:
            continue
        try:
            interpreter = environment(options.folder, torch, torchvision, python, numpy)
            make_pictures(interpreter, pictures)
        except subprocess.CalledProcessError as error:
            wanted, lost = [], {"verdict": "not to be had: " + last_line(error.stderr)}
            keep_row(options.folder, {"torch": torch, "torchvision": torchvision, "python": python, "pillow": "", **lost})
        for pillow in wanted:
            keep_row(options.folder, {"torch": torch, "torchvision": torchvision, **row(options.folder, interpreter, pillow, python, pictures)})
        if not options.keep:
            shutil.rmtree(environment_folder(options.folder, torch, python), ignore_errors=True)
    if options.markdown:
        write(rows_of(options.folder), options.markdown)
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "stoker-matrix"), help="where rows, pictures and environments are")
    parser.add_argument("--only", nargs="*", help="these versions of PyTorch")
    parser.add_argument("--python", nargs="*", help="these versions of Python")
    parser.add_argument("--pillow", nargs="*", help="these versions of Pillow, of those of the table")
    parser.add_argument("--keep", action="store_true", help="leave the environments")
    parser.add_argument("--markdown", metavar="FILE", help="also write a table to FILE")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    return parser.parse_args()


# Rows, kept between calls.


def rows_of(folder):
    """Those that were made, in the order of the table."""
    try:
        with open(os.path.join(folder, "rows.json")) as file:
            rows = json.load(file)
    except FileNotFoundError:
        return []
    order = [(torch, python, pillow) for torch, _, python, _, pillows in ENVIRONMENTS for pillow in ("", *pillows)]
    return sorted((each for each in rows if key_of(each) in order), key=lambda each: order.index(key_of(each)))


def key_of(row):
    return row["torch"], row["python"][:4], row["pillow"]


def keep_row(folder, row):
    print(*(f"{name}: {value}" for name, value in row.items() if value), sep="\n    ", flush=True)
    rows = [each for each in rows_of(folder) if key_of(each) != key_of(row)]
    with open(os.path.join(folder, "rows.json"), "w") as file:
        json.dump([*rows, {**row, "date": str(datetime.date.today())}], file)


# Environments.


def uv(*arguments):
    found = subprocess.run([os.path.join(ROOT, "python", "install-torch"), "--uv"], capture_output=True, text=True, check=True)
    settings = {"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "UV_SYSTEM_CERTS": "1"}
    index = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "install-tool"), "--index"], capture_output=True, text=True).stdout.strip()
    settings |= {"UV_DEFAULT_INDEX": index} if index else {}
    subprocess.run([found.stdout.strip(), *arguments], env=settings | os.environ, capture_output=True, text=True, check=True)


def environment_folder(folder, torch, python):
    return os.path.join(folder, f"torch-{torch}-python-{python}")


def environment(folder, torch, torchvision, python, numpy):
    """A virtual environment with a PyTorch, made if it is missing; returns its interpreter."""
    place = environment_folder(folder, torch, python)
    interpreter = os.path.join(place, "bin", "python")
    if not os.path.exists(os.path.join(place, "complete")):
        uv("venv", "--quiet", "--clear", "--python", python, place)
        wanted = [f"torch=={torch}", f"torchvision=={torchvision}", *WITH, f"numpy=={numpy}" if numpy else "numpy"]
        uv("pip", "install", "--quiet", "--python", interpreter, *wanted)
        open(os.path.join(place, "complete"), "w").close()
    return interpreter


def overlay(folder, interpreter, python, pillow):
    """A folder with one Pillow, before the environment's own on the path."""
    place = os.path.join(folder, f"pillow-{pillow}-python-{python}")
    if not os.path.exists(os.path.join(place, "PIL")):
        simd = pillow.startswith("simd-")
        how = ["--no-binary"] if simd else ["--only-binary"]
        wanted = "pillow-" + pillow.replace("simd-", "simd==") if simd else "pillow==" + pillow
        uv("pip", "install", "--quiet", "--no-deps", *how, ":all:", "--python", interpreter, "--target", place, wanted)
    return place


def make_pictures(interpreter, folder):
    """JPEGs and PNGs of all ordinary kinds, of noise and of smooth shades, once."""
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


def row(folder, interpreter, pillow, python, pictures):
    try:
        above = overlay(folder, interpreter, python, pillow)
    except subprocess.CalledProcessError as error:
        return {"python": python, "pillow": pillow, "verdict": "not to be had: " + last_line(error.stderr)}
    home = os.path.expanduser("~/.cache")  # what others can write to, as /tmp, is not believed
    os.makedirs(home, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as cache:
        settings = os.environ | {"PYTHONPATH": above, "XDG_CACHE_HOME": cache, "PYTHONPYCACHEPREFIX": os.path.join(folder, "pyc"), "PYTHONDONTWRITEBYTECODE": ""}
        command = [interpreter, "-W", "ignore", os.path.abspath(__file__), "--cell", pictures]
        alone, fed = (
            subprocess.run([*before, *command], env=settings, capture_output=True, text=True)
            for before in ([], [os.path.join(ROOT, "bin", "stoker"), "feed", "--"])
        )
        left = [json.load(open(path))["left"] for path in glob.glob(os.path.join(cache, "stoker", "trials", "*"))]
    for name, done in (("alone it fails", alone), ("FAILS FED", fed)):
        if done.returncode:
            return {"python": python, "pillow": pillow, "verdict": f"{name}: {last_line(done.stderr)}"}
    told, same = (json.loads(done.stdout.splitlines()[-1]) for done in (alone, fed))
    return {
        **told["versions"],
        "pillow": pillow,
        "loaders": {name: describe(digests == same["digests"][name], same["counted"][name]) for name, digests in told["digests"].items()},
        "left": "; ".join(sorted({name for each in left for name in each})) or "nothing" if left else "no check",
        "said": [line.removeprefix("stoker: feed: ") for line in fed.stderr.splitlines() if line.startswith("stoker: ")],
    }


def describe(equal, counted):
    """What became of the pictures of one loader: those that were made whole, of all that it opened."""
    fed = f"{counted[0]} of {sum(counted)}" if counted and sum(counted) else "NOT FED"
    return f"equal, {fed}" if equal else f"DIFFERENT, {fed}"


def last_line(text):
    return (text or "").strip().splitlines()[-1][:160] if (text or "").strip() else "no word"


# A cell: in the environment, alone or fed.


def run_cell(pictures):
    import numpy
    import PIL
    import PIL.features
    import torch
    from torchvision.datasets import ImageFolder

    torch.set_num_threads(1)
    digests, counted = {}, {}
    for name, (batches_of, change) in LOADERS.items():
        before = pictures_made()
        digests[name] = batches_of(ImageFolder(pictures, change()))
        counted[name] = [now - old for now, old in zip(pictures_made(), before)]
    features = {name: PIL.features.version(name) or PIL.features.version_feature(name) or "" for name in ("zlib", "libjpeg_turbo")}
    jpeg = features["libjpeg_turbo"] or f"libjpeg {PIL.features.version('jpg')}"
    versions = {"python": sys.version.split()[0], "numpy": numpy.__version__, "jpeg": jpeg, "zlib": features["zlib"]}
    print("\n" + json.dumps({"digests": digests, "counted": counted, "versions": versions}))
    return 0


def pictures_made():
    """Pictures whole, in part and by Pillow so far, of a process that is fed."""
    share = sys.modules.get("stoker.deferred.recipes.share")
    return share.read_counts()[0][:3] if share is not None and share.file() >= 0 else [0, 0, 0]


def ordinary():
    from torchvision import transforms

    steps = [transforms.RandomResizedCrop(48), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.3, 0.3, 0.3, 0.1)]
    steps += [transforms.RandomRotation(10), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    return transforms.Compose(steps)


def rand_augment():
    """RandAugment draws from fourteen operations."""
    from torchvision import transforms

    steps = [transforms.Resize(64), transforms.RandomCrop(56), transforms.RandAugment(3, 9), transforms.RandomPerspective(0.4)]
    return transforms.Compose([*steps, transforms.ToTensor()])


def second():
    """torchvision's second version of transforms, on tensors and on pictures."""
    import torch
    from torchvision.transforms import v2

    steps = [v2.RandomResizedCrop(48, interpolation=3), v2.RandomGrayscale(0.3), v2.ToImage(), v2.RandomHorizontalFlip()]
    return v2.Compose([*steps, v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5, 0.4, 0.4], [0.2, 0.2, 0.3])])


def trivial_augment():
    from torchvision import transforms

    steps = [transforms.TrivialAugmentWide(), transforms.Pad(4, padding_mode="reflect"), transforms.RandomEqualize(), transforms.RandomAutocontrast()]
    return transforms.Compose([*steps, transforms.RandomAdjustSharpness(1.7), transforms.Resize((40, 50), 3), transforms.PILToTensor()])


def digest(batch):
    images, labels = batch
    return hashlib.sha256(images.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()[:16]


def torch_loader(data):
    import torch

    torch.manual_seed(1)
    return torch.utils.data.DataLoader(data, 8, shuffle=True, num_workers=2)


def torch_batches(data):
    return [digest(batch) for batch in torch_loader(data)]


def accelerate_batches(data):
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration

    seen = []
    for stateful in (False, True):
        config = DataLoaderConfiguration(use_stateful_dataloader=stateful)
        loader = Accelerator(cpu=True, dataloader_config=config).prepare(torch_loader(data))
        seen += [digest(batch) for batch in loader]
    return seen


def lightning_batches(data):
    import logging

    import lightning
    import torch

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    seen = []

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            seen.append(digest(batch))
            return self.layer(batch[0].float().mean().view(1, 1)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", **quiet)
    trainer.fit(Module(), torch_loader(data))
    return seen


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
    """Maps indices to a batch, each with its own random numbers."""

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


LOADERS = {
    "DataLoader": (torch_batches, ordinary),
    "StatefulDataLoader": (stateful_batches, rand_augment),
    "torchdata.nodes": (node_batches, ordinary),
    "Accelerate": (accelerate_batches, second),
    "Lightning": (lightning_batches, trivial_augment),
}


def write(rows, place):
    names = ["PyTorch", "torchvision", "Pillow", "libjpeg-turbo", "zlib", "Python", "NumPy", *LOADERS, "left by the check", "said"]
    total = sum(len(pillows) for *_, pillows in ENVIRONMENTS)
    had = {each["torch"] + each["python"][:4] for each in rows if each["pillow"]}
    rows = [each for each in rows if each["pillow"] or each["torch"] + each["python"][:4] not in had]
    ran = sum(bool(each["pillow"]) for each in rows)
    lines = [
        "# Versions that are fed",
        "",
        f"Written by `bench/loader/matrix.py --markdown` (its head says what a row is): five loaders over {PICTURES} JPEGs and PNGs, alone and",
        f"under `stoker feed --`, with {', '.join(WITH).replace('==', ' ')}. 'equal' means every batch and every state. '40 of 40' are",
        "the pictures that Go made whole, of those that this loader opened. 'left by the check' is what the check at start-up found",
        "to differ from the installed libraries, and left to them. With all rows of the script each version of each kind is there.",
        "The other pictures of a row are PNGs of more than a byte a pixel, which Pillow unpacks in less time.",
        "",
        f"{ran} of {total} rows, each ran once, {rows[-1]['date'] if rows else ''}, {os.uname().sysname} {os.uname().machine}, wheels of the package index.",
        "",
        "| " + " | ".join(names) + " |",
        "|" + "---|" * len(names),
    ]
    for each in rows:
        loaders = [each.get("loaders", {}).get(name, each.get("verdict", "")) for name in LOADERS]
        head = [each.get(name, "") for name in ("torch", "torchvision", "pillow", "jpeg", "zlib", "python", "numpy")]
        cells = [*head, *loaders, each.get("left", ""), "; ".join(line for line in each.get("said", []) if "was done by Go" not in line)]
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    with open(place, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
