"""Limericks: transformers' generate for up to eight at once, and a thread that has the device. Starlette."""

import asyncio
import queue
import sys
import threading

import torch
import uvicorn
from parts import device
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from transformers import LlamaConfig, LlamaForCausalLM

torch.set_num_threads(1)
MOST, PROMPT, TOKENS = 8, 16, 6


class Model(LlamaForCausalLM):
    def forward(self, input_ids=None, **kwargs):
        device().launch(0.140 + 0.001 * len(input_ids), "forward")
        out = super().forward(input_ids=input_ids, **kwargs)
        device().synchronize(spin=False)
        return out


model = Model(LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1,
                          vocab_size=512, eos_token_id=None, bos_token_id=None, max_position_embeddings=256)).eval()
asked: queue.Queue = queue.Queue()


def write():
    while True:
        batch = [asked.get()]
        while len(batch) < MOST and not asked.empty():
            batch.append(asked.get_nowait())
        ids = torch.stack([prompt for prompt, _, _ in batch])
        out = model.generate(ids, max_new_tokens=TOKENS, do_sample=False, pad_token_id=1)
        for (_, loop, answer), row in zip(batch, out):
            loop.call_soon_threadsafe(answer.set_result, row[PROMPT:].tolist())


async def limerick(request):
    text = (await request.body()).decode()
    loop = asyncio.get_running_loop()
    answer = loop.create_future()
    asked.put((torch.tensor([(ord(c) + n) % 500 + 2 for n, c in enumerate(text.ljust(PROMPT)[:PROMPT])]), loop, answer))
    return JSONResponse({"tokens": await answer})


app = Starlette(routes=[Route("/limericks", limerick, methods=["POST"])])

if __name__ == "__main__":
    threading.Thread(target=write, daemon=True).start()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
