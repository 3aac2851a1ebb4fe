"""Are the reviews of a product good? A request brings 24 of them, and transformers' pipeline takes a list. Flask behind waitress."""

import sys
import threading

import torch
from flask import Flask, jsonify, request
from parts import device
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, pipeline
from waitress import serve

torch.set_num_threads(1)


class Critic(BertForSequenceClassification):
    def forward(self, input_ids=None, **kwargs):
        device().launch(0.028 + 0.0006 * len(input_ids), "encoder")
        out = super().forward(input_ids=input_ids, **kwargs)
        device().synchronize(spin=False)
        return out


def vocabulary():
    tokens = Tokenizer(models.WordLevel({"[UNK]": 0, "[PAD]": 1, **{f"w{n}": n for n in range(2, 300)}}, unk_token="[UNK]"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokens, unk_token="[UNK]", pad_token="[PAD]")


config = BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=1, intermediate_size=32, vocab_size=300, num_labels=2, pad_token_id=1)
opinion = pipeline("text-classification", model=Critic(config).eval(), tokenizer=vocabulary(), device="cpu")
one_at_a_time = threading.Lock()
REVIEWS = [" ".join(f"w{2 + (17 * n + k) % 298}" for k in range(30)) for n in range(24)]
app = Flask(__name__)


def shares(labels):
    return {label: labels.count(label) / len(labels) for label in sorted(set(labels))}


@app.post("/products/rate")
def rate():
    asked = request.get_json()
    with one_at_a_time:
        opinions = opinion(asked.get("reviews", REVIEWS))
    return jsonify(shares([o["label"] for o in opinions]))


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=4)
