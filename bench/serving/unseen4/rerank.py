"""A reranker of search results. FastAPI."""

import random
import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, infer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

chance = random.Random(4)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word():
    return "".join(chance.choice(LETTERS) for _ in range(chance.randint(2, 8)))


def wordpiece():
    pieces = [*LETTERS, *("##" + c for c in LETTERS), *sorted({p + word()[:3] for p in ("", "##") for _ in range(9000)})]
    vocabulary = {p: i for i, p in enumerate(dict.fromkeys(["[UNK]", "[PAD]", *pieces]))}
    words = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]")


tokenizer = wordpiece()
PASSAGES = [" ".join(word() for _ in range(70)) for _ in range(300)]  # what the index found
model = Net(0.030, 0.00002).eval()
busy = threading.Lock()
app = FastAPI()


@app.post("/predict")
def rerank():
    question = "which of these says it best"
    rows = [tokenizer(question, passage, truncation=True, max_length=96)["input_ids"] for passage in PASSAGES]
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for row, found in zip(ids, rows):
        row[: len(found)] = torch.tensor(found)
    with busy:
        infer(model, ids)
    return {"best": 0}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
