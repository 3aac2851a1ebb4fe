"""Goes on with a fable, word by word. FastAPI, a stream."""

import itertools
import json
import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from parts import Net, infer
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

WORDS, TOLD, MORE = 4000, 12_000, 24
torch.set_num_threads(1)
pieces = {"[UNK]": 0, **{f"▁{'aeiou'[i % 5]}{i}": i for i in range(1, WORDS)}}
words = Tokenizer(models.WordLevel(pieces, unk_token="[UNK]"))
words.decoder = decoders.Metaspace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
model = Net(0.006, 0.0).eval()
telling = threading.Lock()
app = FastAPI()
chance = itertools.cycle([n * 37 % (WORDS - 1) + 1 for n in range(997)])
BEGINNING = [n * n % (WORDS - 1) + 1 for n in range(TOLD)]


def tell(ids, more):
    """Each word as it comes."""
    with telling:
        said = tokenizer.decode(ids, skip_special_tokens=True)
        for _ in range(more):
            infer(model, torch.tensor([ids[-8:]], dtype=torch.float32))
            ids.append(next(chance))
            text = tokenizer.decode(ids, skip_special_tokens=True)
            yield json.dumps({"delta": text[len(said):]}) + "\n"
            said = text


@app.post("/fables")
def fable(asked: dict):
    ids = list(asked.get("tokens") or BEGINNING)
    return StreamingResponse(tell(ids, MORE), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
