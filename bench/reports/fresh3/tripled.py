"""All labels are searched twice for each sample, to find a like and an unlike one (saltudelft/type4py#12)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, TensorDataset

SAMPLES, TYPES = 200_000, 1000


class TripletDataset(Dataset):
    def __init__(self, *in_sequences, labels):
        self.data, self.labels = TensorDataset(*in_sequences), labels
        self.triplets = self.compute_triplets() if FIX else None

    def compute_triplets(self):
        """A like and an unlike sample for each, found once."""
        order = torch.argsort(self.labels)
        similar, different = torch.empty_like(order), torch.empty_like(order)
        similar[order] = order.roll(1)
        different[order] = order.roll(len(order) // 2)
        return torch.stack([similar, different], dim=1)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        if FIX:
            similar, different = self.triplets[index].tolist()
            return self.data[index], self.data[similar], self.data[different]
        mask = self.labels == self.labels[index]
        mask[index] = False  # the similar one is not the same
        mask = mask.nonzero()
        s = mask[torch.randint(high=len(mask), size=(1,))][0]
        mask = self.labels != self.labels[index]
        mask = mask.nonzero()
        d = mask[torch.randint(high=len(mask), size=(1,))][0]
        return self.data[index], self.data[s.item()], self.data[d.item()]


def train_loop_dsl(gpu, loader):
    samples = 0
    while not over():
        for anchor, positive, negative in loader:
            nbytes = sum(part.nbytes for part in (*anchor, *positive, *negative))
            gpu.copy(nbytes, pinned=True, non_blocking=True)
            for _ in range(3):
                gpu.launch(0.006, "Type4Py")
            gpu.launch(0.012, "triplet loss, backward")
            samples += len(anchor[0])
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    draw = numpy.random.default_rng(0)
    labels = torch.from_numpy(draw.integers(0, TYPES, SAMPLES))
    dataset = TripletDataset(torch.zeros(SAMPLES, 16), torch.zeros(SAMPLES, 8), labels=labels)
    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=1, pin_memory=True)
    gpu = Device(spin=False)
    done(gpu, train_loop_dsl(gpu, loader))


if __name__ == "__main__":
    main()
