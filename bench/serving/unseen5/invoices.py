"""Text of scanned invoices: transformers' generate, and no run of words twice, as those who serve DeepSeek-OCR have it. FastAPI."""

import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from parts import device
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor, LogitsProcessorList

torch.set_num_threads(1)
PAGES, PROMPT, LINES = 4, 2500, 12


class Reader(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(0.007, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


class NoRunTwice(LogitsProcessor):
    """Forbids each token that would complete a run of `size` tokens which was seen in the last `window`."""

    def __init__(self, size=20, window=2400, allowed=()):
        self.size, self.window, self.allowed = size, window, frozenset(allowed)

    def forbidden(self, tokens):
        seen = {}
        start = max(0, len(tokens) - self.window)
        for at in range(start, len(tokens) - self.size + 1):
            run = tuple(tokens[at : at + self.size])
            seen.setdefault(run[:-1], set()).add(run[-1])
        return seen.get(tuple(tokens[-self.size + 1 :]), set()) - self.allowed

    def __call__(self, input_ids, scores):
        for row, ids in enumerate(input_ids.tolist()):
            banned = self.forbidden(ids)
            if banned:
                scores[row, list(banned)] = -float("inf")
        return scores


model = Reader(LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1, vocab_size=512,
                           max_position_embeddings=4096)).eval()
no_run_twice = LogitsProcessorList([NoRunTwice(allowed=(128, 129))])
document = torch.randint(3, 500, (PAGES, PROMPT))
reading = threading.Lock()
app = FastAPI()


@app.post("/read")
def read():
    with reading:
        ids = model.generate(document, max_new_tokens=LINES, do_sample=False, eos_token_id=-1, pad_token_id=0, logits_processor=no_run_twice)
    return {"pages": [len(page) - PROMPT for page in ids]}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
