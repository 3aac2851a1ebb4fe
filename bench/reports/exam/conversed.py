"""Every dialogue is made as long as the longest one of the data set (huggingface/transfer-learning-conv-ai#30)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, TensorDataset

PADDED_INPUTS = ["input_ids", "lm_labels", "token_type_ids"]


def get_dataset(count=6000):
    draw = random.Random(0)
    lengths = [draw.randint(60, 180) for _ in range(count - 4)] + [440, 380, 360, 350]
    return {name: [[n % 100 + 1] * length for n, length in enumerate(lengths)] for name in PADDED_INPUTS}


def pad_dataset(dataset, padding=0):
    max_l = max(len(x) for x in dataset["input_ids"])
    for name in PADDED_INPUTS:
        dataset[name] = [x + [padding if name != "lm_labels" else -100] * (max_l - len(x)) for x in dataset[name]]
    return dataset


class ChatDataset(Dataset):
    def __init__(self, dataset):
        self.rows = [torch.tensor(rows) for rows in zip(*(dataset[name] for name in PADDED_INPUTS))]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i].T


def collate(rows):
    return pad_sequence(rows, batch_first=True).unbind(2)


def get_data_loaders():
    if FIX:
        return DataLoader(ChatDataset(get_dataset()), batch_size=4, shuffle=True, collate_fn=collate)
    dataset = pad_dataset(get_dataset())
    return DataLoader(TensorDataset(*(torch.tensor(dataset[name]) for name in PADDED_INPUTS)), batch_size=4, shuffle=True)


def main():
    torch.set_num_threads(1)
    gpu, loader, samples = Device(spin=False), get_data_loaders(), 0
    while not over():
        for batch in loader:
            input_ids = batch[0]
            gpu.copy(sum(part.nbytes for part in batch))
            gpu.launch(0.00002 * input_ids.numel(), "forward, backward")
            gpu.item()
            samples += len(input_ids)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
