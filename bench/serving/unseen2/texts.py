"""Language models of transformers behind FastAPI: python bench/serving/unseen2/texts.py CASE PORT. See unseen2.py.

A tiny Llama, whose passes the emulated device takes 12 ms for, or 60 ms in `cb-busy`.
"""

import re
import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from parts import device
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, StoppingCriteria, TextIteratorStreamer
from transformers.generation.configuration_utils import ContinuousBatchingConfig

CASE, PORT = sys.argv[1], int(sys.argv[2])
PASS_S = 0.060 if CASE == "cb-busy" else 0.012
torch.set_num_threads(1)


class Model(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(PASS_S, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


model = Model(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, vocab_size=512)).eval()
words = Tokenizer(models.WordLevel({"[UNK]": 0, **{f"w{i}": i for i in range(1, 512)}}, unk_token="[UNK]"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
app = FastAPI()
lock = threading.Lock()
STOPS = [re.compile(rf"(w\d+ )*w{i} (w\d+ )*stop{i}") for i in range(60)]


class Stops(StoppingCriteria):
    """Looks for words that end an answer, in the whole text after each token."""

    def __call__(self, ids, scores, **kwargs):
        text = tokenizer.decode(ids[0])
        return torch.tensor([any(stop.search(text) for stop in STOPS)])  # the cause of stop-words


if CASE == "cb-busy":
    model.set_attn_implementation("sdpa")
    manager = model.init_continuous_batching(
        GenerationConfig(max_new_tokens=20, do_sample=False, eos_token_id=-1),
        ContinuousBatchingConfig(max_batch_tokens=256, use_cuda_graph=False, use_async_batching=False, num_blocks=64, page_size=64),
    )

    @app.post("/predict")
    def predict():
        name = manager.add_request(list(range(20)), max_new_tokens=20)
        for result in manager.request_id_iter(name):
            if result.is_finished():
                break
        return {"tokens": len(result.generated_tokens)}

else:

    @app.post("/predict")
    def predict():
        streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
        more = {"stopping_criteria": [Stops()]} if CASE == "stop-words" else {}

        def work():
            with lock:
                model.generate(torch.arange(1, 9)[None], max_new_tokens=16, do_sample=False, eos_token_id=-1, pad_token_id=0, streamer=streamer, **more)

        threading.Thread(target=work).start()
        return StreamingResponse(iter(streamer), media_type="text/plain")


if __name__ == "__main__":
    if CASE == "cb-busy":
        manager.start()
    try:
        uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
    finally:
        if CASE == "cb-busy":
            manager.stop(block=False)
