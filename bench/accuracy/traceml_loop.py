#!/usr/bin/env python3
"""bench/labelled/loop.py with TraceML's own marks: the step on the emulated device is the model's forward pass.

    pip install traceml-ai    # into an environment with torch; 0.5.0 was asked
    STOKER_EMULATE=1 STOKER_BIN=bin/stoker PYTHONPATH=python traceml run --run-name few-workers bench/accuracy/traceml_loop.py --args FLAGS

FLAGS are those of the draw in processes.jsonl. Its verdict is added there by hand, as a line with "what": "traceml". On a loaded machine
its aggregator takes more than TraceML's 15 s (DEFAULT_TCP_READY_TIMEOUT_SEC): 200 were given.
"""

import sys
from pathlib import Path

import traceml_ai as traceml
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "labelled"))

import loop  # noqa: E402


class Step(nn.Module):
    """A step of the loop, which TraceML times as forward."""

    def __init__(self, call):
        super().__init__()
        self.call, self.weight = call, nn.Linear(1, 1)

    def forward(self, batch):
        self.call(batch)
        return batch


def trace_kind(kind):
    step = kind.__call__

    def call(self, batch):
        if not hasattr(self, "model_of_traceml"):
            self.model_of_traceml = Step(lambda one: step(self, one))
        with traceml.trace_step(self.model_of_traceml):
            self.model_of_traceml(batch)

    kind.__call__ = call


traceml.init(mode="auto")
trace_kind(loop.EmulatedStep)
trace_kind(loop.CpuStep)
loop.main()
