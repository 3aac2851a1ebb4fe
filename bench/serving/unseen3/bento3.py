"""BentoML: python bench/serving/unseen3/bento3.py CASE PORT runs `bentoml serve` on this file. See unseen3.py."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.environ.update(BENTOML_DO_NOT_TRACK="1", BENCH_CASE=sys.argv[1])
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "bento3:Rerank", "--host", "127.0.0.1", "--port", sys.argv[2]])

import random

import bentoml
import torch
from parts import Net, infer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

FIXED = os.environ.get("BENCH_FIXED") == "1"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def document():
    chance = random.Random(5)
    return " ".join("".join(chance.choice(LETTERS) for _ in range(chance.randint(2, 9))) for _ in range(45_000))


@bentoml.service(workers=1, traffic={"concurrency": 16})
class Rerank:
    def __init__(self):
        from transformers import PreTrainedTokenizerFast

        chance = random.Random(4)
        pieces = [*LETTERS, *("##" + c for c in LETTERS)]
        pieces += sorted({p + "".join(chance.choice(LETTERS) for _ in range(n)) for p in ("", "##") for n in (2, 3) for _ in range(6000)})
        words = Tokenizer(models.WordPiece({p: i for i, p in enumerate(["[UNK]", "[PAD]", *pieces])}, unk_token="[UNK]"))
        words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]")
        self.net, self.text = Net(0.025, 0.001).eval(), document()  # the document, as the store gives it

    @bentoml.api
    def predict(self) -> dict:
        text = self.text[:4000] if FIXED else self.text
        ids = self.tokenizer(text, truncation=True, max_length=384)["input_ids"]  # the cause of bento-truncate
        infer(self.net, torch.zeros(1, 8))
        return {"tokens": len(ids)}
