"""Reads receipts. Flask behind waitress, with spans of OpenTelemetry."""

import json
import os
import sys
import threading
import urllib.request

import torch
from flask import Flask, jsonify, request
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from parts import Net, infer
from waitress import serve

COLLECTOR = os.environ["SERVICE_URL"] + "/v1/traces"


class Collector(SpanExporter):
    """Sends spans to where they are collected."""

    def export(self, spans):
        body = json.dumps([{"name": s.name, "from": s.start_time, "to": s.end_time} for s in spans]).encode()
        post = urllib.request.Request(COLLECTOR, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(post, timeout=5) as answer:
            return SpanExportResult.SUCCESS if answer.status == 200 else SpanExportResult.FAILURE

    def shutdown(self):
        pass


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Collector()))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("receipts")
model = Net(0.020, 0.001).eval()
on_device = threading.Lock()
app = Flask(__name__)


def straighten(scan):
    with tracer.start_as_current_span("straighten"):
        return torch.zeros(1, 64) + len(scan) % 3


def find_lines(page):
    with tracer.start_as_current_span("find-lines"):
        return page.reshape(8, 8)


def read_lines(lines):
    with tracer.start_as_current_span("read-lines"), on_device:
        return infer(model, lines[None])


@app.post("/receipts")
def receipt():
    with tracer.start_as_current_span("receipt"):
        text = read_lines(find_lines(straighten(request.get_data())))
        with tracer.start_as_current_span("sum"):
            total = float(text.sum())
    return jsonify({"total": total})


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=6)
