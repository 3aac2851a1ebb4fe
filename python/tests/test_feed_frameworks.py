"""stoker.DataLoader in trainers that are not ours: what they do with it is what they do with torch's.

Each script trains once with torch.utils.data.DataLoader and once with stoker's, and
prints what it counted. A framework that is not installed is left out, which is said.
"""

import importlib.util
import json
import os
import socket
import sys
import textwrap
import unittest

import alone
from feed_fixture import FeedCase

HERE = os.path.dirname(os.path.abspath(__file__))

BEGIN = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import torch, torch.utils.data
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
import stoker
torch.set_num_threads(1)
kind, root = sys.argv[1:3]
torch.manual_seed(0)
data = ImageFolder(root, T.Compose([T.CenterCrop((4, 6)), T.ToTensor()]))
class Unknown(torch.utils.data.Dataset):  # torch's own iteration
    def __len__(self): return len(data)
    def __getitem__(self, i): return data[i]
def loader(dataset=data, **settings):
    if kind == "fallen back": dataset = Unknown()
    make = torch.utils.data.DataLoader if kind == "torch" else stoker.DataLoader
    made = make(dataset, 6, **{"shuffle": True, **settings})
    assert kind == "torch" or made.translated == (kind == "stoker"), (kind, made.translated)
    return made
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(72, 2)
    def forward(self, x): return self.layer(x.flatten(1))
class Counted(torch.optim.SGD):
    steps = 0
    def step(self, closure=None):
        Counted.steps += 1
        return super().step(closure)
def numbers(images):
    "The files of a batch, whichever way they were painted."
    scale = 255 / 5 if kind != "stoker" else 1
    return [round(float(image[0, 0, 0]) * scale) for image in images]
def out(**what): print(json.dumps(what))
"""

ACCELERATE = """
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps=4, cpu=True)
model = Model()
model, optimizer, train = accelerator.prepare(model, Counted(model.parameters(), 0.1), loader())
found = {"type": isinstance(train, torch.utils.data.DataLoader), "length": len(train), "ends": [], "remainders": [], "samples": [], "devices": []}
for epoch in range(2):
    for images, labels in train:
        with accelerator.accumulate(model):
            found["ends"].append(accelerator.gradient_state.end_of_dataloader)
            found["remainders"].append(accelerator.gradient_state.remainder)
            found["samples"].append(len(images))
            found["devices"].append(str(images.device))
            gathered = accelerator.gather_for_metrics(labels)
            accelerator.backward(torch.nn.functional.cross_entropy(model(images), labels))
            optimizer.step()
            optimizer.zero_grad()
    assert not accelerator.gradient_state.in_dataloader
found["steps"] = Counted.steps
# Gone on with behind three batches.
if kind == "torch":
    rest = accelerator.skip_first_batches(accelerator.prepare(loader()), 3)
    found["rest"] = [len(images) for images, _ in rest]
    found["whole"] = True
else:
    want = [list(range(42))[first : first + 6] for first in range(0, 42, 6)]
    again = accelerator.prepare(loader(shuffle=False))
    rest = accelerator.skip_first_batches(again, 3)
    kept, kind = kind, "fallen back"  # what is skipped is read by torch
    got, ends, devices = [], [], []
    for images, _ in rest:
        got.append(numbers(images))
        ends.append(accelerator.gradient_state.end_of_dataloader)
    kind = kept
    found["rest"] = [len(batch) for batch in got]
    found["whole"] = got == want[3:] and ends == [False] * (len(ends) - 1) + [True]
    assert [numbers(images) for images, _ in again] == want, "the epoch behind"
accelerator.save_state(os.path.join(os.getcwd(), "state"))
accelerator.load_state(os.path.join(os.getcwd(), "state"))
out(**found)
"""

LIGHTNING = """
import logging
import lightning
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.batches, self.shuffled, self.files = Model(), 0, [], []
    def training_step(self, batch, number):
        images, labels = batch
        self.batches += 1
        self.files.append(numbers(images))
        return torch.nn.functional.cross_entropy(self.model(images), labels)
    def validation_step(self, batch, number): pass
    def configure_optimizers(self): return Counted(self.parameters(), 0.1)
found = {}
for name, settings in (("plain", {"accumulate_grad_batches": 4}), ("overfit", {"overfit_batches": 2}), ("limited", {"limit_train_batches": 3})):
    Counted.steps = 0
    module = Module()
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, **settings)
    trainer.fit(module, loader(), loader(shuffle=False) if name == "plain" else None)
    found[name] = [module.batches, Counted.steps, [len(batch) for batch in module.files]]
    if name == "overfit":
        found["order"] = module.files  # in order, and the same each time
out(**found)
"""

TRANSFORMERS = """
import transformers
from transformers import Trainer, TrainingArguments
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
class Classifier(Model):
    def forward(self, pixel_values=None, labels=None):
        logits = super().forward(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}
class Mine(Trainer):
    def get_train_dataloader(self): return loader()
    def _prepare_inputs(self, batch):
        if not isinstance(batch, dict): batch = {"pixel_values": batch[0], "labels": batch[1]}
        return Trainer._prepare_inputs(self, batch)
found = {}
for name, settings in (("plain", {}), ("accumulated", {"gradient_accumulation_steps": 4})):
    Counted.steps = 0
    model = Classifier()
    arguments = TrainingArguments(output_dir="out", num_train_epochs=2, report_to=[], save_strategy="no", use_cpu=True, logging_strategy="no",
        per_device_train_batch_size=6, disable_tqdm=True, **settings)
    trainer = Mine(model=model, args=arguments, train_dataset=data, optimizers=(Counted(model.parameters(), 0.1), None))
    result = trainer.train()
    found[name] = [Counted.steps, result.global_step]
out(**found)
"""

# Its own way: the Trainer makes the loader, by the name that was put in.
SWAPPED = """
import transformers
from transformers import Trainer, TrainingArguments
transformers.logging.set_verbosity_error()
import transformers.trainer
if kind != "torch": transformers.trainer.DataLoader = stoker.DataLoader
class Classifier(Model):
    def forward(self, pixel_values=None, labels=None):
        logits = super().forward(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}
model = Classifier()
arguments = TrainingArguments(output_dir="out", num_train_epochs=2, report_to=[], save_strategy="no", use_cpu=True, logging_strategy="no",
    per_device_train_batch_size=6, gradient_accumulation_steps=4, remove_unused_columns=False, disable_tqdm=True)
collate = lambda samples: dict(zip(("pixel_values", "labels"), torch.utils.data.default_collate(samples)))
trainer = Trainer(model=model, args=arguments, train_dataset=data, data_collator=collate, optimizers=(Counted(model.parameters(), 0.1), None))
out(steps=trainer.train().global_step, counted=Counted.steps)
"""

FASTAI = """
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.callback.training import GradientAccumulation
from fastai.optimizer import OptimWrapper
found = {}
for name, callbacks in (("plain", []), ("accumulated", [GradientAccumulation(12)])):
    Counted.steps = 0
    learner = Learner(DataLoaders(loader(), loader(shuffle=False)), Model(), torch.nn.functional.cross_entropy, cbs=callbacks,
        opt_func=lambda parameters, **_: OptimWrapper(parameters, Counted, lr=0.1), lr=0.1)
    with learner.no_bar(), learner.no_logging(): learner.fit(2)
    found[name] = Counted.steps
out(**found)
"""

# Two processes, of which the first waits for the other: the samples are split once, whoever splits them.
TWO = """
other = os.fork()
rank = str(int(not other))
os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3])
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
train = accelerator.prepare(loader())
found = {"length": len(train), "files": [], "labels": 0, "ends": []}
for images, labels in train:
    found["files"] += numbers(images)
    found["ends"].append(accelerator.gradient_state.end_of_dataloader)
    found["labels"] += len(accelerator.gather_for_metrics(labels))
if accelerator.num_processes != 2: raise SystemExit("%d processes" % accelerator.num_processes)
files = accelerator.gather(torch.tensor(found.pop("files")))
found["missing"] = sorted(set(range(42)) - set(files.tolist()))
found["count"] = len(files)
if accelerator.is_main_process: out(**found)
accelerator.end_training()
if other: sys.exit(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]))
"""


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return str(bound.getsockname()[1])


def installed(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


# What the scripts import and no loader changes: once, and not in each of their processes.
IMPORTS = tuple(name for name in ("torch", "torchvision", "accelerate", "lightning", "transformers", "transformers.trainer") if installed(name.partition(".")[0]))


def setUpModule():
    if installed("torch", "torchvision"):
        alone.start(IMPORTS)  # no child of a test


@unittest.skipUnless(installed("torch", "torchvision"), "torch and torchvision are not installed")
class FrameworksTest(FeedCase):
    def setUp(self):
        super().setUp()
        from test_feed_changes import numbered

        self.root = self.images(write=numbered)

    def run_script(self, source, kind, *more):
        script = os.path.join(self.folder, "train.py")
        with open(script, "w") as file:
            file.write(BEGIN + textwrap.dedent(source))
        place = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "XDG_RUNTIME_DIR": os.path.join(self.folder, "run"), "CUDA_VISIBLE_DEVICES": ""}
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
            place.pop(name, None)
        done = alone.run(script, kind, self.root, *more, imports=IMPORTS, env=place, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{kind}: {done.stdout}{done.stderr}")
        return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])

    def assertAlike(self, source, *more):
        """With all three loaders the same is counted."""
        want = self.run_script(source, "torch", *(make() for make in more))
        for kind in ("stoker", "fallen back"):
            self.assertEqual(self.run_script(source, kind, *(make() for make in more)), want, kind)
        return want

    @unittest.skipUnless(installed("accelerate"), "Accelerate is not installed")
    def test_accelerate(self):
        found = self.assertAlike(ACCELERATE)
        self.assertEqual((found["steps"], found["ends"].count(True)), (4, 2))  # of 7 batches an epoch

    @unittest.skipUnless(installed("accelerate"), "Accelerate is not installed")
    def test_accelerate_on_two_ranks(self):
        found = self.assertAlike(TWO, free_port)
        self.assertEqual((found["missing"], found["count"], found["labels"], found["length"]), ([], 48, 42, 4))

    @unittest.skipUnless(installed("lightning"), "Lightning is not installed")
    def test_lightning(self):
        found = self.assertAlike(LIGHTNING)
        self.assertEqual(found["plain"][:2], [14, 4])
        self.assertEqual(found["order"], [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]] * 2)

    @unittest.skipUnless(installed("transformers", "accelerate"), "Transformers is not installed")
    def test_transformers(self):
        self.assertEqual(self.assertAlike(TRANSFORMERS), {"plain": [14, 14], "accumulated": [4, 4]})

    @unittest.skipUnless(installed("transformers", "accelerate"), "Transformers is not installed")
    def test_transformers_with_the_name_put_in(self):
        torchs, ours = (self.run_script(SWAPPED, kind) for kind in ("torch", "fallen back"))
        self.assertEqual(ours, torchs)

    @unittest.skipUnless(installed("fastai"), "fastai is not installed")
    def test_fastai(self):
        self.assertEqual(self.assertAlike(FASTAI)["plain"], 14)


if __name__ == "__main__":
    unittest.main()
