"""Callbacks for trainers: they log what `stoker observe --log figures` found, and are inert where nobody observes.

`stoker.TrainerCallback` is for Hugging Face's Trainer. Lightning finds its own by the entry point
`lightning.pytorch.callbacks_factory`. Neither changes what is trained, nor keeps a figure that was logged already.
What imports a framework is asked for by name only, so that `import stoker` needs none.
"""

from __future__ import annotations

import sys
from typing import Any

from ._figures import figures


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

    The figures stand in the trainer's log history and in what the callbacks behind this one show. Those that the
    trainer makes by itself for W&B and TensorBoard stand before it: `observe --log wandb` is for the former.
    """
    from transformers import TrainerCallback as Base

    class TrainerCallback(Base):
        def __init__(self) -> None:
            self._new = _New()

        def on_log(
            self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
        ) -> None:
            new = self._new.figures()
            if new and logs is not None:
                logs.update(new)
                if state.log_history:
                    state.log_history[-1].update(new)

    return TrainerCallback


def lightning_callbacks() -> list[Any]:
    """What Lightning adds to each Trainer: nothing where nobody observes."""
    if "_stoker_hook" not in sys.modules:
        return []
    name = "lightning.pytorch" if "lightning.pytorch" in sys.modules else "pytorch_lightning"
    base = sys.modules[name].Callback

    class StokerCallback(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            self._new = _New()

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            new = self._new.figures()
            for logger in trainer.loggers if new else ():
                logger.log_metrics(new, step=trainer.global_step)

    return [StokerCallback()]
