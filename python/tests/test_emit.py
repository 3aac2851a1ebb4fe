"""Every line that `stoker advise --emit` can print is Python, and the framework that it is for takes it.

The texts are golden files of advise/emit: all settings with all kinds of values, and the plans of all cases.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import io
import json
import logging
import os
import tempfile
import unittest
import warnings
from unittest import mock

try:
    import torch
except ImportError:
    torch = None
try:
    import transformers

    transformers.logging.set_verbosity_error()
except ImportError:
    transformers = None
try:
    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
except ImportError:
    lightning = None

GOLDEN = os.path.join(os.path.dirname(__file__), "..", "..", "advise", "emit", "testdata")
PLACEHOLDER = "    ...,  # what you pass today\n"
ENVIRONMENT = "the environment of `make torch` has it"


def printed(dialect=None):
    """The texts of a dialect, or of all."""
    texts = []
    for name in (os.path.join("settings", "all.jsonl"), os.path.join("cases", "plans.jsonl")):
        with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
            rows = [json.loads(row) for row in file]
        texts += [row["text"] for row in rows if dialect in (None, row["dialect"])]
    return texts


class Text(unittest.TestCase):
    def test_everything_is_python(self):
        texts = printed()
        self.assertGreater(len(texts), 300)
        for text in texts:
            with self.subTest(text=text):
                for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
                    for keyword in call.keywords:
                        numeric = any(word in keyword.arg for word in ("num_", "size", "factor", "steps", "_mb", "batches"))
                        self.assertFalse(numeric and isinstance(ast.literal_eval(keyword.value), str), keyword.arg)


class Executed(unittest.TestCase):
    """Runs texts with the names that a script has."""

    def execute(self, text, today, names):
        """Run one text; what stands for the script's own arguments becomes today's, where the text does not set them."""
        given = {keyword.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) for keyword in node.keywords}
        space = {"today": {name: value for name, value in today.items() if name not in given}, **names}
        with self.subTest(text=text), warnings.catch_warnings(), mock.patch.dict(os.environ), contextlib.redirect_stdout(io.StringIO()), without_capture():
            warnings.simplefilter("ignore")
            try:
                exec(compile(text.replace(PLACEHOLDER, "    *first, **today,\n"), "printed", "exec"), space)
            finally:
                gc.enable()
        return space

    def made(self, factory):
        """factory, and a list of what it made."""
        results = []

        @functools.wraps(factory)
        def make(*args, **kwargs):
            results.append(factory(*args, **kwargs))
            return results[-1]

        return make, results


def without_capture():
    """CUDA graphs need a GPU: without one only the call's arguments are checked."""
    if torch is None or torch.cuda.is_available():
        return contextlib.nullcontext()
    return mock.patch.object(torch.cuda, "make_graphed_callables", autospec=True)


def names():
    """What a loop of one's own has."""
    model = torch.nn.Linear(2, 2)
    return {
        "torch": torch,
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "loss": torch.tensor(1.0, requires_grad=True),
        "batch": torch.zeros(4, 2),
        "device": "cpu",
        "step": 0,
        "sample": torch.zeros(4, 2),
        "first": (torch.utils.data.TensorDataset(torch.zeros(8, 2)),),
    }


@unittest.skipUnless(torch, f"no torch: {ENVIRONMENT}")
class Torch(Executed):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder.name}/rendezvous", rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        self.addCleanup(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())

    def test_a_loop_of_ones_own_takes_it(self):
        made = 0
        for text in printed("torch"):
            make, loaders = self.made(torch.utils.data.DataLoader)
            self.execute(text, {"num_workers": 1}, {**names(), "DataLoader": make})
            made += len(loaders)
        self.assertGreater(made, 50)

    def test_what_is_made_delivers(self):
        for text in printed("torch"):
            make, loaders = self.made(torch.utils.data.DataLoader)
            if "DataLoader(" not in text or "import DataLoader" in text:
                continue
            self.execute(text, {"num_workers": 0 if "persistent" not in text and "prefetch" not in text else 1}, {**names(), "DataLoader": make})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for loader in loaders:
                    if loader.num_workers == 0:
                        self.assertEqual(next(iter(loader))[0].shape[1], 2)


@unittest.skipUnless(transformers, f"no transformers: {ENVIRONMENT}")
class HuggingFace(Executed):
    def arguments(self, text):
        """The TrainingArguments of a text, on a machine that has TF32."""
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch("transformers.training_args.is_torch_tf32_available", lambda: True),
            mock.patch("transformers.training_args.enable_tf32"),
        ):
            make, made = self.made(functools.partial(transformers.TrainingArguments, use_cpu=True))
            self.execute(text, {"dataloader_num_workers": 1, "report_to": "none"}, {**names(), "first": (folder,), "TrainingArguments": make})
        return made

    def test_training_arguments_take_it(self):
        seen = set()
        for text in printed("hf"):
            for arguments in self.arguments(text):
                call = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "TrainingArguments")
                for keyword in call.keywords:
                    seen.add(keyword.arg)
                    # The first becomes an object, the second is taken back on a machine without a GPU.
                    if keyword.arg not in ("accelerator_config", "dataloader_pin_memory"):
                        self.assertEqual(getattr(arguments, keyword.arg), ast.literal_eval(keyword.value), text)
        self.assertLessEqual(
            {
                "dataloader_num_workers",
                "dataloader_prefetch_factor",
                "dataloader_pin_memory",
                "dataloader_persistent_workers",
                "per_device_train_batch_size",
                "gradient_accumulation_steps",
                "bf16",
                "tf32",
                "torch_compile",
            },
            seen,
        )

    def test_a_trainer_makes_its_loader_of_it(self):
        for text in printed("hf"):
            for arguments in self.arguments(text):
                if arguments.torch_compile or arguments.fp16 or arguments.tf32:
                    continue  # the Trainer wants a GPU for these
                data = [{"x": torch.zeros(2), "labels": torch.zeros(2)}] * 8
                with self.subTest(text=text), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    loader = transformers.Trainer(torch.nn.Linear(2, 2), arguments, train_dataset=data).get_train_dataloader()
                    self.assertEqual(loader.num_workers, arguments.dataloader_num_workers)


    def test_a_trainer_trains_with_it(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)

            def forward(self, x, labels):
                return {"loss": torch.nn.functional.mse_loss(self.layer(x), labels)}

        wanted = ("num_workers=1,", "prefetch_factor=4,", "persistent_workers=True,", "train_batch_size=4,", "accumulation_steps=4,", "bf16=True,", "non_blocking", "logging_steps=4,")
        rows = [row for want in wanted for row in "".join(printed("hf")).splitlines(True) if want in row]
        together = {row.split("=")[0]: row for row in rows}
        self.assertEqual(len(together), len(wanted))
        (arguments,) = self.arguments("TrainingArguments(\n" + PLACEHOLDER + "    max_steps=2,\n" + "".join(together.values()) + ")\n")
        data = [{"x": torch.zeros(2), "labels": torch.ones(2)}] * 64
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments.output_dir, arguments.save_strategy, arguments.disable_tqdm = folder, "no", True
            trainer = transformers.Trainer(Model(), arguments, train_dataset=data)
            trainer.train()
        self.assertEqual(trainer.state.global_step, 2)


@unittest.skipUnless(lightning, f"no lightning: {ENVIRONMENT}")
class Lightning(Executed):
    def test_a_trainer_takes_it(self):
        made = 0
        quiet = {"accelerator": "cpu", "devices": 1, "logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
        for text in printed("lightning"):
            trainer, trainers = self.made(lambda *_, **settings: lightning.Trainer(**{**quiet, **settings}))
            loader, _ = self.made(torch.utils.data.DataLoader)
            before = torch.get_float32_matmul_precision()
            try:
                self.execute(text, {"num_workers": 1} if "DataLoader" in text else {}, {**names(), "DataLoader": loader, "Trainer": trainer})
            finally:
                torch.set_float32_matmul_precision(before)
            made += len(trainers)
        self.assertGreater(made, 20)


if __name__ == "__main__":
    unittest.main()
