"""A classifier of pictures, fine-tuned with the Trainer of Transformers as a beginner would."""

# https://github.com/huggingface/transformers/issues/20581
# Cause: the Trainer loads in the main process by default, and pictures are decoded and transformed there.
# Fix: set dataloader_num_workers: 10 times as fast with 16.
# Line: 70, TrainingArguments without dataloader_num_workers (the work is at 34 to 37).

import tempfile
import warnings

import cv2
import numpy
import torch
import transformers
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import Dataset

warnings.filterwarnings("ignore")


class Pictures(Dataset):
    """Pictures as files have them; the transforms of an image processor are applied to each."""

    def __init__(self, count=20_000):
        draw = numpy.random.default_rng(0)
        pictures = [cv2.GaussianBlur(draw.integers(0, 255, (600, 800, 3), dtype=numpy.uint8), (0, 0), 2) for _ in range(8)]
        self.files, self.count = [cv2.imencode(".jpg", picture)[1] for picture in pictures], count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        picture = cv2.cvtColor(cv2.imdecode(self.files[i % len(self.files)], cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        top, left = int(torch.randint(96, ())), int(torch.randint(160, ()))
        cut = cv2.resize(picture[top : top + 480, left : left + 608], (224, 224), interpolation=cv2.INTER_CUBIC)
        values = (cut.astype(numpy.float32) / 255 - 0.5) / 0.5
        return {"pixel_values": torch.from_numpy(values).permute(2, 0, 1), "labels": i % 10}


class Classifier(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.head, self.samples = gpu, torch.nn.Linear(3, 10), 0

    def forward(self, pixel_values, labels):
        self.gpu.copy(pixel_values.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.01, "vit")
        self.gpu.launch(0.022, "backward, adamw")
        self.samples += len(labels)
        logits = self.head(pixel_values[:, :, ::32, ::32].mean((2, 3)))
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Until(transformers.TrainerCallback):
    def __init__(self, gpu):
        self.gpu = gpu

    def on_step_end(self, args, state, control, **_):
        self.gpu.item()  # the loss is checked for nan
        control.should_training_stop = over()


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu = Device(spin=False)
    model, workers = Classifier(gpu), {"dataloader_num_workers": 2} if FIX else {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, per_device_train_batch_size=16, max_steps=10_000, logging_steps=20, save_strategy="no", report_to="none",
            disable_tqdm=True, use_cpu=True, **workers,
        )
        trainer = transformers.Trainer(model, arguments, train_dataset=Pictures(), callbacks=[Until(gpu)])
        over()
        trainer.train()
    done(gpu, model.samples)


if __name__ == "__main__":
    main()
