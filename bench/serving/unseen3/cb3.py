"""Continuous batching of transformers behind FastAPI: python bench/serving/unseen3/cb3.py CASE PORT. See unseen3.py."""

import os
import sys

import torch
import uvicorn
from fastapi import FastAPI
from parts import device
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.configuration_utils import ContinuousBatchingConfig

CASE, PORT = sys.argv[1], int(sys.argv[2])
MOST = 16 if os.environ.get("BENCH_FIXED") == "1" else 2
torch.set_num_threads(1)


class Model(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(0.055, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


model = Model(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, vocab_size=512)).eval()
model.set_attn_implementation("sdpa")
manager = model.init_continuous_batching(
    GenerationConfig(max_new_tokens=16, do_sample=False, eos_token_id=-1),
    ContinuousBatchingConfig(max_batch_tokens=256, max_requests_per_batch=MOST, use_cuda_graph=False, use_async_batching=False, num_blocks=64, page_size=64),
)
app = FastAPI()


@app.post("/predict")
def predict():
    name = manager.add_request(list(range(20)), max_new_tokens=16)
    for result in manager.request_id_iter(name):
        if result.is_finished():
            break
    return {"tokens": len(result.generated_tokens)}


if __name__ == "__main__":
    manager.start()
    try:
        uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
    finally:
        manager.stop(block=False)
