"""A help desk that answers: a small language model of transformers, its answer as a stream. FastAPI."""

import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from parts import device
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TextIteratorStreamer

torch.set_num_threads(1)


class Model(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(0.035, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


model = Model(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, vocab_size=512)).eval()
words = Tokenizer(models.WordLevel({"[UNK]": 0, **{f"w{i}": i for i in range(1, 512)}}, unk_token="[UNK]"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
busy = threading.Lock()
app = FastAPI()


def generate(ids, streamer):
    with busy:
        model.generate(ids, max_new_tokens=16, do_sample=False, eos_token_id=-1, pad_token_id=0, streamer=streamer)


@app.post("/predict")
def predict():
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
    ids = tokenizer("w1 w2 w3 w4 w5 w6", return_tensors="pt")["input_ids"]
    threading.Thread(target=generate, args=(ids, streamer)).start()
    return StreamingResponse(iter(streamer), media_type="text/plain")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
