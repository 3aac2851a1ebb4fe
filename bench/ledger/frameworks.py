"""The same by Lightning, Hugging Face's Trainer and Accelerate: their callbacks say which row begins.

python bench/ledger/frameworks.py lightning-evaluate
"""

import argparse
import logging
import tempfile
from pathlib import Path

import clock
import torch
from plain import Rows
from torch.utils.data import DataLoader

from stoker.emulated import Device


def make_loader(batches: int, workers: int = 1) -> DataLoader:
    return DataLoader(Rows(8 * batches), 8, num_workers=workers, persistent_workers=workers > 0)


def lightning(folder: Path, evaluates: bool = False, saves: bool = False) -> None:
    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.gpu = torch.nn.Linear(64, 1), Device()
            self.weights = torch.nn.Parameter(torch.zeros(6_000_000 if saves else 1), requires_grad=False)

        def training_step(self, batch: torch.Tensor, number: int) -> torch.Tensor:
            self.gpu.launch(0.03, "step")
            self.trainer.should_stop = not clock.goes_on()
            return self.layer(batch).mean()

        def on_train_batch_end(self, *_) -> None:
            self.gpu.item()

        def validation_step(self, batch: torch.Tensor, number: int) -> None:
            self.gpu.launch(0.02, "forward")
            self.layer(batch)
            self.gpu.item()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.layer.parameters(), 0.01)

    class Marks(lightning.Callback):
        def on_train_batch_start(self, *_) -> None:
            clock.begin("training")

        def on_validation_start(self, *_) -> None:
            clock.begin("evaluation")

        def on_validation_end(self, *_) -> None:
            clock.begin("epoch-edge" if clock._marks[0][0] != "evaluation" or len(clock._marks) > 1 else "start-up")

        def on_train_epoch_end(self, *_) -> None:
            clock.begin("epoch-edge")

    class Saving(lightning.Callback):
        def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
            with clock.within("checkpoint"):
                trainer.save_checkpoint(folder / "last.ckpt")

    trainer = lightning.Trainer(
        max_epochs=100, accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False, callbacks=[Marks(), *([Saving()] if saves else [])], default_root_dir=folder,
    )
    trainer.fit(Module(), make_loader(60), make_loader(60) if evaluates else None)


def trainer(folder: Path, evaluates: bool = False, saves: bool = False) -> None:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.gpu = torch.nn.Linear(64, 2), Device()
            self.weights = torch.nn.Parameter(torch.zeros(6_000_000 if saves else 1), requires_grad=False)

        def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> dict:
            self.gpu.launch(0.03, "step")
            logits = self.layer(x)
            if not self.training:
                self.gpu.item()
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    class Pairs(Rows):
        def __getitem__(self, row: int) -> dict:
            return {"x": super().__getitem__(row), "labels": row % 2}

    class Marks(TrainerCallback):
        def on_step_begin(self, *_, **__) -> None:
            clock.begin("training")

        def on_step_end(self, args, state, control, model=None, **_) -> None:
            model.gpu.item()
            control.should_training_stop = not clock.goes_on()

    class Timed(Trainer):
        def evaluate(self, *args, **kwargs) -> dict:
            with clock.within("evaluation"):
                return super().evaluate(*args, **kwargs)

        def _save_checkpoint(self, *args, **kwargs) -> None:
            with clock.within("checkpoint"):
                super()._save_checkpoint(*args, **kwargs)

    arguments = TrainingArguments(
        folder, per_device_train_batch_size=8, num_train_epochs=1, use_cpu=True, report_to=[], disable_tqdm=True, logging_steps=1000,
        eval_strategy="steps" if evaluates else "no", eval_steps=60, per_device_eval_batch_size=8, dataloader_num_workers=1,
        save_strategy="steps" if saves else "no", save_steps=60, save_total_limit=1,
    )  # fmt: skip
    Timed(Model(), arguments, train_dataset=Pairs(10**6), eval_dataset=Pairs(480), callbacks=[Marks()]).train()


def accelerate(folder: Path, evaluates: bool = False, saves: bool = False) -> None:
    from accelerate import Accelerator

    accelerator, gpu = Accelerator(cpu=True), Device()
    model = torch.nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    model, optimizer, loader, held_out = accelerator.prepare(model, optimizer, make_loader(80), make_loader(60))
    weights = {"weights": torch.zeros(6_000_000)}
    while clock.goes_on():
        model.train()
        for batch in clock.asks(loader):
            clock.begin("training")
            gpu.launch(0.03, "step")
            accelerator.backward(model(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
            gpu.item()
            if not clock.goes_on():
                break
        clock.begin("epoch-edge")
        if evaluates:
            with clock.within("evaluation"), torch.no_grad():
                model.eval()
                for batch in held_out:
                    gpu.launch(0.02, "forward")
                    model(batch)
                    gpu.item()
        if saves:
            with clock.within("checkpoint"):
                accelerator.save(weights, folder / "last.pt")


KINDS = {"lightning": lightning, "trainer": trainer, "accelerate": accelerate}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", help="lightning, trainer or accelerate, with -evaluate or -save behind it")
    framework, _, what = parser.parse_args().kind.partition("-")
    with tempfile.TemporaryDirectory() as made:
        KINDS[framework](Path(made), evaluates="evaluate" in what, saves="save" in what)
    clock.begin("tail")
    clock.write()
