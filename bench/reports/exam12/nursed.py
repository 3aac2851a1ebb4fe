"""What was done for patients in a hospital, as a sequence, is what a transformer is trained on."""

# https://github.com/FGA-DIKU/BONSAI/issues/102

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PATIENTS, LENGTH, VOCABULARY, BATCH = 2000, 512, 20_000, 32


class MlmDataset(Dataset):
    def __init__(self, count=50_000):
        draw = numpy.random.default_rng(0)
        self.patients = [
            {
                "concept": torch.from_numpy(draw.integers(5, VOCABULARY, length)),
                "age": torch.from_numpy(draw.random(length, dtype=numpy.float32)),
                "segment": torch.arange(length) // 10,
            }
            for length in draw.integers(40, LENGTH, PATIENTS)
        ]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        patient = dict(self.patients[i % PATIENTS])
        hidden = torch.rand(len(patient["concept"])) < 0.2
        patient["target"] = torch.where(hidden, patient["concept"], -100)
        patient["concept"] = torch.where(hidden, 4, patient["concept"])
        return patient


def dynamic_padding(patients):
    keys = patients[0]
    return {k: torch.nn.utils.rnn.pad_sequence([p[k] for p in patients], batch_first=True) for k in keys}


class BertEHR:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()), pinned=True, non_blocking=True)
        for layer in range(6):
            self.gpu.launch(0.0235, f"layer {layer}")
        self.gpu.launch(0.297, "head, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=28 << 30), 0, 0
    model = BertEHR(gpu)
    options = {"num_workers": 2 if FIX else 1, "pin_memory": True, "persistent_workers": True}
    loader = DataLoader(MlmDataset(), BATCH, shuffle=True, collate_fn=dynamic_padding, **options)
    while not over():
        for batch in loader:
            model.train_step(batch)
            step, samples = step + 1, samples + len(batch["concept"])
            if step % 10 == 0:
                print(f"epoch 0 step {step} train loss {gpu.item():.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
