"""Letters to customers: transformers' generate, which ends at the customer's own greeting. FastAPI."""

import itertools
import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from parts import device
from tokenizers import Tokenizer, decoders, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

torch.set_num_threads(1)
VOCABULARY, TOKENS = 12_000, 10
SYLLABLES = [a + b + c for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("", "n", "r", "s", "l")]


class Writer(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(0.004, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


def vocabulary(size):
    pairs = [a + b for a, b in itertools.product(SYLLABLES, SYLLABLES)]
    pieces = ["[UNK]", "[PAD]", *"abcdefghijklmnopqrstuvwxyz ,.", *SYLLABLES, *(" " + s for s in SYLLABLES), *pairs]
    pieces = list(dict.fromkeys(pieces))[:size]
    tokens = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, [], unk_token="[UNK]"))
    tokens.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokens, unk_token="[UNK]", pad_token="[PAD]")


tokenizer = vocabulary(VOCABULARY)
model = Writer(LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1,
                           vocab_size=VOCABULARY, eos_token_id=None, bos_token_id=None, max_position_embeddings=512)).eval()
customers = itertools.count(1)
writing = threading.Lock()
app = FastAPI()


@app.post("/letters")
def letter(asked: dict):
    name = asked.get("customer") or f"customer {next(customers)}"
    prompt = torch.randint(2, 900, (1, 40))
    with writing:
        ids = model.generate(prompt, max_new_tokens=TOKENS, do_sample=False, pad_token_id=1,
                             tokenizer=tokenizer, stop_strings=[f"Dear {name}", "Yours sincerely"])
    return {"customer": name, "tokens": ids.shape[1] - 40}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
