"""A language model with relative positions classifies texts."""

# https://github.com/huggingface/transformers/pull/44782

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

LENGTH, WIDTH, BATCH, LAYERS = 512, 1024, 8, 12


class Reviews(Dataset):
    def __init__(self, count=8000):
        self.count, self.ids = count, torch.arange(LENGTH) % 32000

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.ids, i % 2


class XLNetModel:
    def __init__(self, gpu, clamp_len=-1, bi_data=True):
        self.gpu, self.clamp_len, self.bi_data = gpu, clamp_len, bi_data

    def to_device(self, tensor):
        self.gpu.copy(tensor.nbytes)
        return tensor

    @staticmethod
    def positional_embedding(pos_seq, inv_freq, bsz):
        sinusoid = torch.einsum("i,d->id", pos_seq, inv_freq)
        embedding = torch.cat([torch.sin(sinusoid), torch.cos(sinusoid)], dim=-1)[:, None, :]
        return embedding.expand(-1, bsz, -1)

    def relative_positional_encoding(self, qlen, klen, bsz):
        freq_seq = torch.arange(0, WIDTH, 2.0)
        inv_freq = 1 / torch.pow(10000, (freq_seq / WIDTH))
        forward = torch.arange(klen, -qlen, -1.0)
        if not self.bi_data:
            return self.positional_embedding(forward, inv_freq, bsz)
        backward = torch.arange(-klen, qlen, 1.0)
        halves = [self.positional_embedding(sequence, inv_freq, bsz // 2) for sequence in (forward, backward)]
        return torch.cat(halves, dim=1)

    def encode_positions(self, bsz):
        if FIX:
            for kernel in ("arange", "pow", "einsum", "sin", "cos", "cat"):
                self.gpu.launch(0.00006, kernel)
            return None
        return self.to_device(self.relative_positional_encoding(LENGTH, LENGTH, bsz))

    def forward(self, input_ids):
        self.gpu.launch(0.0003, "word embedding, masks")
        self.encode_positions(len(input_ids))
        for layer in range(LAYERS):
            self.gpu.launch(0.00072, f"relative attention, feed forward {layer}")

    def backward(self):
        self.gpu.launch(0.0181, "backward")
        self.gpu.launch(0.0016, "adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=12 << 30), 0, 0
    model = XLNetModel(gpu)
    loader = DataLoader(Reviews(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for input_ids, _ in loader:
            gpu.copy(input_ids.nbytes, pinned=True, non_blocking=True)
            model.forward(input_ids)
            model.backward()
            step, samples = step + 1, samples + len(input_ids)
            if step % 50 == 0:
                print(f"{{'loss': {gpu.item():.4f}, 'step': {step}}}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
