"""A language model learns to write film reviews that flatter; another model tells how much they do."""

# https://github.com/huggingface/trl/issues/246

import torch
from common import FIX, done, over
from stoker.emulated import Device

QUERIES, TOKENS, BLOCKS, VOCABULARY = 16, 12, 12, 1000


class GPT2:
    """The device's work is emulated; the small tensors stand for what the host does."""

    def __init__(self, gpu):
        self.gpu, self.hidden, self.logits = gpu, torch.ones(64), torch.randn(QUERIES, VOCABULARY)

    def forward(self, texts):
        for block in range(BLOCKS):
            self.hidden = torch.tanh(self.hidden * 0.98 + 0.02)
            self.hidden = torch.relu(self.hidden) + 0.01
            self.gpu.launch(0.000012 + 0.0000008 * texts, f"attention {block}")
            self.gpu.launch(0.000014 + 0.000001 * texts, f"mlp {block}")

    def generate(self, queries):
        """Tokens one after the other, for all of these queries."""
        tokens = []
        for _ in range(TOKENS):
            self.forward(len(queries))
            self.gpu.item()
            chances = torch.softmax(self.logits[: len(queries)], -1)
            tokens.append(torch.multinomial(chances, 1))
        return list(torch.cat(tokens, 1))


class PPOTrainer:
    def __init__(self, model, gpu):
        self.model, self.gpu = model, gpu

    def generate(self, queries):
        if FIX:
            return self.model.generate(queries)
        return [response for query in queries for response in self.model.generate([query])]

    def step(self, queries, responses, rewards):
        self.gpu.copy(sum(text.nbytes for text in [*queries, *responses]) + rewards.nbytes)
        self.gpu.launch(0.011, "log probabilities, values")
        for epoch in range(4):
            self.gpu.launch(0.0085, f"ppo loss, backward, adam {epoch}")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=12 << 30), 0, 0
    trainer = PPOTrainer(GPT2(gpu), gpu)
    while not over():
        queries = list(torch.randint(0, VOCABULARY, (QUERIES, 6)))
        responses = trainer.generate(queries)
        gpu.launch(0.006, "sentiment of all responses")
        rewards = torch.rand(QUERIES) + gpu.item()
        trainer.step(queries, responses, rewards)
        step, samples = step + 1, samples + QUERIES
        if step % 10 == 0:
            print(f"step {step} env/reward_mean {rewards.mean():.3f} ppo/loss/total {gpu.item():.3f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
