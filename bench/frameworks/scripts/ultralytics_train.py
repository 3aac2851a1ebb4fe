"""Ultralytics' YOLO, classifying small pictures that are made here."""
import os
import tempfile

os.environ["YOLO_CONFIG_DIR"] = tempfile.mkdtemp()
os.environ["YOLO_OFFLINE"] = "true"
import numpy as np
from PIL import Image
from ultralytics import YOLO

random = np.random.default_rng(0)
with tempfile.TemporaryDirectory() as folder:
    for part, count in (("train", 200), ("val", 16)):
        for label in ("a", "b"):
            os.makedirs(f"{folder}/data/{part}/{label}")
            for n in range(count):
                Image.fromarray(random.integers(0, 255, (48, 48, 3), np.uint8)).save(f"{folder}/data/{part}/{label}/{n}.png")
    model = YOLO("yolov8n-cls.yaml", verbose=False)
    model.train(data=f"{folder}/data", epochs=1, imgsz=32, batch=8, device="cpu", workers=0, project=folder, plots=False, verbose=False, seed=0)
    print("weights", sum(p.double().sum().item() for p in model.model.parameters()).hex())
