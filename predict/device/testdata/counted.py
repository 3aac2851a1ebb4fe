#!/usr/bin/env python3
"""Writes counted.csv: torchvision's networks for classification, as stoker.count counts them at their own size of image.

    PYTHONPATH=python python/.venv/bin/python predict/device/testdata/counted.py
"""

import csv
from pathlib import Path

import torch
import torchvision

import stoker

IN_TABLE = {"resnet50", "vit_b_16"}  # workload.go
# Sides that the networks were published with, where that is not 224.
SIDES = {
    **{"inception_v3": 299, "efficientnet_b1": 240, "efficientnet_b2": 288, "efficientnet_b3": 300, "efficientnet_b4": 380},
    **{"efficientnet_b5": 456, "efficientnet_b6": 528, "efficientnet_b7": 600, "efficientnet_v2_s": 384},
    **{"efficientnet_v2_m": 480, "efficientnet_v2_l": 480, "swin_v2_t": 256, "swin_v2_s": 256, "swin_v2_b": 256},
}
FIELDS = ["name", "side", "flops", "bytes", "kept", "grouped", "params", "layers", "family"]


def main():
    models = torchvision.models
    with open(Path(__file__).parents[1] / "counted.csv", "w", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        for name in models.list_models(module=models):
            if name in IN_TABLE:
                continue
            side = SIDES.get(name, 224)
            model = models.get_model(name, weights=None)
            if hasattr(model, "aux_logits"):
                model.eval()  # without the outputs that only training has
            counted = stoker.count(model, torch.empty(2, 3, side, side))
            table.writerow({"name": name, "side": side} | {k: round(v) if not isinstance(v, str) else v for k, v in counted.items()})


if __name__ == "__main__":
    main()
