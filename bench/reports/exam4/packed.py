"""The controller fills batch tensors token by token before each step (NovaSky-AI/SkyRL#1808)."""

import random
from dataclasses import dataclass

import torch
from common import FIX, done, over
from stoker.emulated import Device


@dataclass
class TrainerConfig:
    batch_size: int = 128
    micro_batch_size: int = 2
    data_parallel_size: int = 8
    pad_token_id: int = 0


class Tokenizer:
    """A stand-in for a tokenizer: the corpus was tokenized before training began."""

    def __init__(self, seed=0):
        self.draw = random.Random(seed)

    def conversation(self):
        prompt, answer = self.draw.randrange(100, 900), self.draw.randrange(300, 2100)
        tokens = [self.draw.randrange(1, 32_000) for _ in range(prompt + answer)]
        return {"input_ids": tokens, "num_actions": answer}


def collate_sft_batch(examples, cfg):
    """Left-padded sequences, attention masks and loss masks of the answers."""
    longest = max(len(example["input_ids"]) for example in examples)
    sequences, attention_masks, loss_masks = [], [], []
    for example in examples:
        ids, answer = example["input_ids"], example["num_actions"]
        padding = longest - len(ids)
        sequence, attention, loss = [], [], []
        for column in range(longest):
            if column < padding:
                sequence.append(cfg.pad_token_id)
                attention.append(0)
            else:
                sequence.append(ids[column - padding])
                attention.append(1)
            loss.append(1 if column >= longest - answer else 0)
        sequences.append(sequence)
        attention_masks.append(attention)
        loss_masks.append(loss)
    return {
        "sequences": torch.tensor(sequences, dtype=torch.long),
        "attention_mask": torch.tensor(attention_masks, dtype=torch.long),
        "loss_mask": torch.tensor(loss_masks, dtype=torch.long),
    }


def collate_sft_batch_vectorized(examples, cfg):
    longest = max(len(example["input_ids"]) for example in examples)
    sequences = torch.full((len(examples), longest), cfg.pad_token_id, dtype=torch.long)
    columns = torch.arange(longest)
    lengths = torch.tensor([len(example["input_ids"]) for example in examples])
    answers = torch.tensor([example["num_actions"] for example in examples])
    for row, example in enumerate(examples):
        sequences[row, longest - lengths[row] :] = torch.as_tensor(example["input_ids"])
    return {
        "sequences": sequences,
        "attention_mask": (columns >= (longest - lengths)[:, None]).long(),
        "loss_mask": (columns >= (longest - answers)[:, None]).long(),
    }


class WorkerDispatch:
    """Hands the shards of a batch to the policy's workers; this device is one of them."""

    def __init__(self, gpu, cfg):
        self.gpu, self.cfg = gpu, cfg

    def forward_backward(self, batch):
        shard = len(batch["sequences"]) // self.cfg.data_parallel_size
        for start in range(0, shard, self.cfg.micro_batch_size):
            piece = {key: value[start : start + self.cfg.micro_batch_size] for key, value in batch.items()}
            self.gpu.copy(sum(value.nbytes for value in piece.values()))
            self.gpu.launch(0.018, "forward, backward")

    def optim_step(self):
        self.gpu.launch(0.01, "adamw")
        return self.gpu.item()


class SFTTrainer:
    def __init__(self, cfg):
        self.cfg, self.gpu = cfg, Device(spin=False)
        self.dispatch, self.draw = WorkerDispatch(self.gpu, cfg), random.Random(1)

    def setup(self):
        tokenizer = Tokenizer()
        self.tokenized = [tokenizer.conversation() for _ in range(512)]

    def train(self):
        collate = collate_sft_batch_vectorized if FIX else collate_sft_batch
        step = samples = 0
        while not over():
            examples = self.draw.sample(self.tokenized, self.cfg.batch_size)
            batch = collate(examples, self.cfg)
            self.dispatch.forward_backward(batch)
            loss = self.dispatch.optim_step()
            step, samples = step + 1, samples + len(examples)
            if step % 10 == 0:
                print(f"step {step}: loss {loss:.4f}", flush=True)
        return samples


def main():
    torch.set_num_threads(1)
    trainer = SFTTrainer(TrainerConfig())
    trainer.setup()
    done(trainer.gpu, trainer.train())


if __name__ == "__main__":
    main()
