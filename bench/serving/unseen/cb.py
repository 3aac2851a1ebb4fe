"""transformers' continuous batching behind FastAPI: python bench/serving/unseen/cb.py CASE PORT. See unseen.py.

A tiny Llama, whose passes the emulated device takes 25 ms for.
"""

import sys

import torch
import uvicorn
from fastapi import FastAPI
from parts import device
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.configuration_utils import ContinuousBatchingConfig

CASE, PORT = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)


class Model(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(0.025, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


model = Model(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, vocab_size=512)).eval()
model.set_attn_implementation("sdpa")
blocks = {"num_blocks": 6, "page_size": 32} if CASE == "cb-cache" else {"num_blocks": 64, "page_size": 64}
manager = model.init_continuous_batching(
    GenerationConfig(max_new_tokens=64, do_sample=False, eos_token_id=-1),
    ContinuousBatchingConfig(max_batch_tokens=256, use_cuda_graph=False, use_async_batching=False, **blocks),
)
app = FastAPI()


def text_of(ids):
    """Text of tokens, the whole of it again for each token."""
    words = ""
    for n in range(len(ids)):
        words = ""
        for i in ids[:n]:  # the cause of cb-text
            words = words + chr(97 + i % 26)  # the cause of cb-text
            words = words.replace("##", "")  # the cause of cb-text
    return words


@app.post("/predict")
def predict():
    tokens = 64 if CASE == "cb-cache" else 12
    name = manager.add_request(list(range(20)), max_new_tokens=tokens)
    for result in manager.request_id_iter(name):
        if result.is_finished():
            break
    return {"text": text_of(result.generated_tokens * 60) if CASE == "cb-text" else ""}


if __name__ == "__main__":
    manager.start()
    try:
        uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
    finally:
        manager.stop(block=False)
