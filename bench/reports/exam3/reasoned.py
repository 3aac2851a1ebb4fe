"""The next token is drawn on the host, from the chances of all tokens (rasbt/reasoning-from-scratch#177)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device

VOCABULARY = 151_936


class Qwen3:
    def __init__(self, gpu):
        self.gpu = gpu
        self.probas = torch.softmax(torch.randn(1, VOCABULARY), -1)

    def __call__(self, tokens):
        """Logits of the next token, with what was computed before in a cache."""
        self.gpu.copy(tokens.nbytes)
        self.gpu.launch(0.004, "layers, one token")
        return self.probas

    def sequence_logprob(self, tokens):
        self.gpu.copy(tokens.nbytes)
        self.gpu.launch(0.012, "layers, all tokens")


def sample_response(model, prompt, max_new_tokens):
    tokens = list(prompt)
    for _ in range(max_new_tokens):
        probas = model(torch.tensor(tokens[-1:]))
        model.gpu.launch(0.0002, "softmax, top_p_filter")
        if FIX:
            model.gpu.launch(0.0001, "multinomial")
            model.gpu.item()
            next_token = len(tokens)
        else:
            model.gpu.item()
            next_token = int(torch.multinomial(probas.clone(), num_samples=1))
            model.gpu.copy(8)
        tokens.append(next_token)
    return tokens


def compute_grpo_loss(model, prompt, num_rollouts=4):
    rewards, produced = [], 0
    for _ in range(num_rollouts):
        tokens = sample_response(model, prompt, max_new_tokens=60)
        rewards.append(float(tokens[-1] % 2))
        model.sequence_logprob(torch.tensor(tokens))
        produced += len(tokens) - len(prompt)
    rewards = torch.tensor(rewards)
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    model.gpu.copy(advantages.nbytes)
    return produced


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    model, samples = Qwen3(gpu), 0
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(8))], lr=1e-5)
    while not over():
        samples += compute_grpo_loss(model, prompt=list(range(40)))
        gpu.launch(0.05, "backward")
        optimizer.step()
        gpu.item()
    done(gpu, samples)


if __name__ == "__main__":
    main()
