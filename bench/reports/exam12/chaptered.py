"""A language model is tuned on long conversations about whole books."""

# https://github.com/NVIDIA-NeMo/Speech/issues/14528

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader, Dataset

CONVERSATIONS, TURNS, WORDS, MAX_LENGTH, BATCH = 40, 6, 1200, 8192, 2
ROLES = ("<user>", "<assistant>")


def build_tokenizer():
    words = {"<unk>": 0, "<user>": 1, "<assistant>": 2, "<end>": 3} | {f"word{w}": w + 4 for w in range(5000)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


class GPTSFTChatDataset(Dataset):
    """Turns by turns; only what the assistant says counts in the loss."""

    def __init__(self, count=20_000):
        draw = random.Random(0)
        text = lambda: " ".join(f"word{draw.randrange(5000)}" for _ in range(WORDS))  # noqa: E731
        self.conversations = [[(ROLES[t % 2], text()) for t in range(TURNS)] for _ in range(CONVERSATIONS)]
        self.tokenizer, self.count = build_tokenizer(), count
        self.prepared = [self.process(conversation) for conversation in self.conversations] if FIX else None

    def __len__(self):
        return self.count

    def process(self, conversation):
        ids, mask = [], []
        for role, text in conversation:
            turn = self.tokenizer.encode(f"{role} {text} <end>").ids
            ids += turn
            mask += [role == ROLES[1]] * len(turn)
        return torch.tensor(ids[:MAX_LENGTH]), torch.tensor(mask[:MAX_LENGTH])

    def __getitem__(self, i):
        if self.prepared:
            return self.prepared[i % CONVERSATIONS]
        return self.process(self.conversations[i % CONVERSATIONS])


class MegatronGPT:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, tokens, mask):
        self.gpu.copy(tokens.nbytes + mask.nbytes, pinned=True, non_blocking=True)
        for layer in range(8):
            self.gpu.launch(0.00045, f"layer {layer}")
        self.gpu.launch(0.0089, "loss, backward, fused adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=61 << 30), 0, 0
    model = MegatronGPT(gpu)
    options = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    loader = DataLoader(GPTSFTChatDataset(), BATCH, shuffle=True, **options)
    while not over():
        for tokens, mask in loader:
            model.training_step(tokens, mask)
            step, samples = step + 1, samples + len(tokens)
            if step % 50 == 0:
                print(f"Epoch 0: global_step={step} reduced_train_loss={gpu.item():.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
