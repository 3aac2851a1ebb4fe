"""Pages are read by a small model of vision and language, token by token; each token's probability is kept too."""

# https://github.com/tiiuae/Falcon-Perception/pull/34

import torch
from common import FIX, done, over
from stoker.emulated import Device

PAGES, BATCH, TOKENS, FIELDS = 64, 4, 256, ("output_ids", "output_logits", "output_probs")


class Scalar:
    """A number on the device; the host has to wait for it."""

    def __init__(self, gpu, value):
        self.gpu, self.value = gpu, value

    def item(self):
        self.gpu.launch(0.000003, "Memcpy DtoH")
        self.gpu.item()
        return self.value


class Sequence:
    """What was read so far of one page."""

    def __init__(self, gpu):
        self.gpu, self.fields = gpu, {field: [] for field in FIELDS}

    def append(self, token, logit, prob):
        for field, value in zip(FIELDS, (token, logit, prob), strict=True):
            self.fields[field].append(Scalar(self.gpu, value))

    def read(self, field):
        scalars = self.fields[field]
        if FIX:
            self.gpu.launch(0.00001, "stack")
            self.gpu.copy(4 * len(scalars))
            return torch.tensor([scalar.value for scalar in scalars])
        return torch.tensor([scalar.item() for scalar in scalars])


class FalconOCR:
    def __init__(self, gpu):
        self.gpu = gpu

    def prefill(self, pages):
        self.gpu.copy(pages.nbytes)
        self.gpu.launch(0.021, "vision encoder, prefill")

    def decode(self):
        self.gpu.launch(0.00082, "graph of a token")
        self.gpu.launch(0.00004, "softmax, multinomial")

    def generate(self, pages):
        sequences = [Sequence(self.gpu) for _ in pages]
        self.prefill(pages)
        for step in range(TOKENS):
            self.decode()
            for number, sequence in enumerate(sequences):
                sequence.append((step * 7 + number) % 60_000, 1.5, 0.9)
        return sequences


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples, batch = Device(spin=False, memory_used=4 << 30), 0, 0
    model, pages = FalconOCR(gpu), torch.zeros(PAGES, 3, 448, 448, dtype=torch.uint8)
    while not over():
        first = batch * BATCH % PAGES
        for sequence in model.generate(pages[first : first + BATCH]):
            ids, _, probs = (sequence.read(field) for field in FIELDS)
            samples += len(ids)
        batch += 1
        if batch % 5 == 0:
            print(f"{batch * BATCH} pages, last one {len(ids)} tokens, confidence {probs.mean():.2f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
