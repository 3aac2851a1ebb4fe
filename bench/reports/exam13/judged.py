"""A language model is reinforced by the marks of a reward model, which another server runs."""

# https://github.com/verl-project/verl/issues/1507

import random
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device

PROMPTS, ROLLOUTS, LENGTH, VOCABULARY = 8, 4, 256, 4000
ANSWER, EACH = 0.0042, 0.0003


class Tokenizer:
    def __init__(self):
        draw = random.Random(0)
        self.words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 7))) for _ in range(VOCABULARY)]

    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)


class RewardModel:
    """Served by vLLM on another machine: an answer takes a moment, however many texts are asked about."""

    def score(self, texts):
        time.sleep(ANSWER + EACH * len(texts))
        return [len(text) % 10 / 10 for text in texts]


class NaiveRewardManager:
    def __init__(self, tokenizer):
        self.tokenizer, self.client = tokenizer, RewardModel()

    def compute_score(self, solution):
        return self.client.score([solution])[0]

    def __call__(self, responses):
        scores = []
        for ids in responses.tolist():
            scores.append(self.compute_score(self.tokenizer.decode(ids)))
        return torch.tensor(scores)


class BatchRewardManager(NaiveRewardManager):
    def __call__(self, responses):
        return torch.tensor(self.client.score([self.tokenizer.decode(ids) for ids in responses.tolist()]))


class ActorRollout:
    def __init__(self, gpu):
        self.gpu = gpu

    def generate_sequences(self):
        for token in range(LENGTH):
            self.gpu.launch(0.00036, f"token {token % 8}")
        self.gpu.item()
        return torch.randint(0, VOCABULARY, (PROMPTS * ROLLOUTS, LENGTH))

    def compute_log_prob(self, responses):
        self.gpu.copy(responses.nbytes)
        self.gpu.launch(0.018, "log probabilities of actor and reference")

    def update_actor(self, advantages):
        self.gpu.copy(advantages.nbytes)
        self.gpu.launch(0.047, "policy loss, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=66 << 30), 0, 0
    actor, tokenizer = ActorRollout(gpu), Tokenizer()
    reward_fn = BatchRewardManager(tokenizer) if FIX else NaiveRewardManager(tokenizer)
    while not over():
        responses = actor.generate_sequences()
        actor.compute_log_prob(responses)
        scores = reward_fn(responses).view(PROMPTS, ROLLOUTS)
        actor.update_actor((scores - scores.mean(1, keepdim=True)) / (scores.std(1, keepdim=True) + 1e-6))
        step, samples = step + 1, samples + len(responses)
        if step % 5 == 0:
            print(f"step:{step} - critic/score/mean:{scores.mean():.3f} - actor/pg_loss:{gpu.item():.3f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
