"""Which department does a letter go to? A container as SageMaker's: model_fn, input_fn, predict_fn, output_fn. gunicorn."""

import json
import os
import sys

if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "-k", "gthread", "--threads", "4", "-w", "1", "-b", f"127.0.0.1:{sys.argv[1]}",
                              "--log-level", "warning", "claims:app"])

import torch
from flask import Flask, Response, request
from parts import device
from transformers import BertConfig, BertForSequenceClassification

torch.set_num_threads(1)
CONFIG = BertConfig(hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=768, vocab_size=16_000, num_labels=12)


class Letters(BertForSequenceClassification):
    def forward(self, input_ids):
        device().launch(0.030, "encoder")
        device().synchronize(spin=False)
        return self.classifier(self.bert.embeddings(input_ids)[:, 0])


WEIGHTS = Letters(CONFIG).state_dict()


def model_fn(model_dir):
    model = Letters(CONFIG)
    model.load_state_dict(WEIGHTS)
    return model.eval()


def input_fn(body, content_type):
    text = json.loads(body or "{}").get("text", "the roof leaks since the storm of last week")
    return torch.tensor([[hash(word) % 16_000 for word in text.split()]])


def predict_fn(data, model):
    with torch.inference_mode():
        return model(data).softmax(-1)


def output_fn(prediction, accept):
    return json.dumps({"department": int(prediction.argmax())})


class Transformer:
    """The container's part."""

    def __init__(self, model_dir="/opt/ml/model"):
        self.model_dir = model_dir

    def transform(self, body, content_type, accept):
        model = model_fn(self.model_dir)
        data = input_fn(body, content_type)
        return output_fn(predict_fn(data, model), accept)


transformer = Transformer()
app = Flask(__name__)


@app.get("/ping")
def ping():
    return ""


@app.post("/invocations")
def invocations():
    return Response(transformer.transform(request.get_data(), request.content_type, "application/json"), mimetype="application/json")
