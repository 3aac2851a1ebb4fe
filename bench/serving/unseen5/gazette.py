"""Names of people and places in an article: transformers' pipeline. Starlette."""

import random
import sys
import threading

import torch
import uvicorn
from parts import device
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForTokenClassification, PreTrainedTokenizerFast, pipeline

torch.set_num_threads(1)
chance = random.Random(11)
LABELS = {n: label for n, label in enumerate(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"])}


class Tagger(BertForTokenClassification):
    def forward(self, *args, **kwargs):
        device().launch(0.035, "tagger")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


def subwords():
    pieces = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", *(f"wo{n}" for n in range(900)), *(f"##rd{n}" for n in range(900))]
    tokens = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    tokens.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=tokens, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")


def article(words):
    return " ".join(f"wo{chance.randrange(900)}rd{chance.randrange(900)}" for _ in range(words))


model = Tagger(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=1805, max_position_embeddings=8192,
                          id2label=LABELS, label2id={v: k for k, v in LABELS.items()})).eval()
ner = pipeline("token-classification", model=model, tokenizer=subwords(), aggregation_strategy="average", device="cpu")
ARTICLE = article(900)
turn = threading.Lock()


def entities(text):
    with turn:
        found = ner(text)
    return [{"kind": e["entity_group"], "from": int(e["start"]), "to": int(e["end"])} for e in found[:50]]


async def annotate(request):
    asked = await request.json()
    return JSONResponse({"entities": await run_in_threadpool(entities, asked.get("text", ARTICLE))})


app = Starlette(routes=[Route("/annotate", annotate, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
