"""A tiny language model writes answers to a list of prompts, token by token."""

# https://github.com/huggingface/transformers/issues/43089

import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, PROMPT, NEW_TOKENS, VOCABULARY, CHECK = 8, 64, 128, 256, 16


class LlamaForCausalLM:
    """One token is one graph that was captured before."""

    def __init__(self, gpu):
        self.gpu = gpu

    def forward(self, tokens):
        self.gpu.launch(0.00042, "graph of a token")
        return tokens


class GenerationMixin:
    def __init__(self, model):
        self.model, self.gpu = model, model.gpu
        self.scores = torch.zeros(BATCH, VOCABULARY)

    def process(self, scores):
        """Temperature, then the best of what is left."""
        scores = torch.log(torch.softmax(scores / 0.8, -1) + 1e-10)
        kept = torch.topk(scores, 50).values[:, -1:]
        self.gpu.launch(0.00003, "softmax, top k")
        return scores.masked_fill(scores < kept, -1e9)

    def stopping_criteria(self, step):
        """Whether each sequence has ended, by its last token or by its length."""
        for criterion in ("eos", "max length"):
            self.gpu.launch(0.000006, criterion)
            if (not FIX or step % CHECK == 0) and self.gpu.item():
                return True
        return False

    def prepare_inputs_for_generation(self, step):
        self.gpu.launch(0.000004, "cache position")
        if not FIX:
            self.gpu.item()
        return step

    def generate(self, prompts):
        self.gpu.copy(prompts.nbytes)
        self.gpu.launch(0.002, "prefill")
        token, tokens = prompts[:, -1:], []
        for step in range(1, NEW_TOKENS + 1):
            self.prepare_inputs_for_generation(step)
            self.model.forward(token)
            token = torch.multinomial(torch.softmax(self.process(self.scores), -1), 1)
            self.gpu.launch(0.00001, "multinomial, cat")
            tokens.append(token)
            if self.stopping_criteria(step):
                break
        self.gpu.item()
        return torch.cat([prompts, *tokens], 1)


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples, batch = Device(spin=False, memory_used=3 << 30), 0, 0
    mixin, prompts = GenerationMixin(LlamaForCausalLM(gpu)), torch.zeros(BATCH, PROMPT, dtype=torch.int64)
    while not over():
        answers = mixin.generate(prompts)
        batch, samples = batch + 1, samples + answers.shape[1] - PROMPT
        if batch % 10 == 0:
            print(f"{batch * BATCH} answers, {samples} tokens each", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
