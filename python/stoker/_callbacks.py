"""Callbacks for trainers that log what `stoker observe --log figures` found.

`stoker.TrainerCallback` is for Hugging Face's Trainer. Lightning finds its callback by the entry
point `lightning.pytorch.callbacks_factory`. Without an observer they do nothing. They never change
the training, and log each figure once. Frameworks are imported only when a callback is asked for,
so `import stoker` needs none.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ._figures import figures

if TYPE_CHECKING:
    from lightning.pytorch import Trainer
    from transformers import TrainerControl, TrainerState, TrainingArguments


class _New:
    """The figures that were not logged yet."""

    def __init__(self) -> None:
        self._logged: dict[str, float] = {}

    def figures(self) -> dict[str, float]:
        now = figures()
        if now == self._logged:
            return {}
        self._logged = now
        return now


def trainer_callback() -> type:
    """The class for `Trainer(callbacks=[stoker.TrainerCallback()])`.

    The figures appear in the trainer's log history and in callbacks after this one. The trainer's
    own callbacks for W&B and TensorBoard run earlier; for W&B, use `observe --log wandb`.
    """
    from transformers import TrainerCallback as Base

    class TrainerCallback(Base):
        def __init__(self) -> None:
            self._new = _New()

        def on_log(
            self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: dict[str, Any] | None = None, **kwargs: Any
        ) -> None:
            new = self._new.figures()
            if new and logs is not None:
                logs.update(new)
                if state.log_history:
                    state.log_history[-1].update(new)

    return TrainerCallback


def lightning_callbacks() -> list[Any]:
    """Return the callbacks for Lightning to add to each Trainer: none without an observer."""
    if "_stoker_hook" not in sys.modules:
        return []
    name = "lightning.pytorch" if "lightning.pytorch" in sys.modules else "pytorch_lightning"
    base = sys.modules[name].Callback

    class StokerCallback(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            self._new = _New()

        def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
            new = self._new.figures()
            for logger in trainer.loggers if new else ():
                logger.log_metrics(new, step=trainer.global_step)

    return [StokerCallback()]
