"""A tutor for children: transformers' generate, and as much of the lesson as the model has room for. FastAPI."""

import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from parts import device
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

torch.set_num_threads(1)
ROOM, ANSWER = 400, 8


class Model(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(0.008, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


model = Model(LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1,
                          vocab_size=512, eos_token_id=None, bos_token_id=None, max_position_embeddings=1024)).eval()
words = Tokenizer(models.WordLevel({"[UNK]": 0, **{f"w{i}": i for i in range(1, 512)}}, unk_token="[UNK]"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
busy = threading.Lock()
app = FastAPI()
LESSON = [{"role": "user" if n % 2 else "assistant", "content": " ".join(f"w{(n * k) % 500 + 1}" for k in range(36))} for n in range(90)]


def prompt_of(messages):
    return "\n".join(f"{m['role']} : {m['content']}" for m in messages)


def fitting(messages):
    """The newest messages that fit."""
    messages = list(messages)
    while len(messages) > 1 and len(tokenizer.encode(prompt_of(messages))) > ROOM:
        messages.pop(0)
    return messages


@app.post("/tutor")
def tutor(asked: dict):
    messages = fitting([*LESSON, {"role": "user", "content": asked.get("question", "w4 w8 w15")}])
    ids = tokenizer(prompt_of(messages), return_tensors="pt")["input_ids"]
    with busy:
        out = model.generate(ids, max_new_tokens=ANSWER, do_sample=False, pad_token_id=0)
    return {"answer": tokenizer.decode(out[0, ids.shape[1]:])}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
