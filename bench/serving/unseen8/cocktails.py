"""Recipes of cocktails, in which a bottle's name is written as it is on the list. transformers' generate, Starlette."""

import asyncio
import json
import sys
import threading

import torch
import uvicorn
from parts import device
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY, TOKENS, BEAMS = 24_000, 8, 3
OPEN, END, PAD = 2, 3, 1
torch.set_num_threads(1)
BOTTLES = {tuple(n * k % 20_000 + 10 for k in range(1, 4)) for n in range(1, 400)}
mixing = threading.Lock()


class Mixer(LlamaForCausalLM):
    def forward(self, *args, **kwargs):
        device().launch(0.012, "forward")
        out = super().forward(*args, **kwargs)
        device().synchronize(spin=False)
        return out


mixer = Mixer(LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1,
                          vocab_size=VOCABULARY, eos_token_id=None, bos_token_id=None, max_position_embeddings=256)).eval()


def allowed(_, sentence):
    """What may come next: any token, or in a bottle's name the next of a name on the list."""
    sentence = sentence.tolist()
    if OPEN in sentence:
        name = tuple(sentence[len(sentence) - sentence[::-1].index(OPEN):])
        if END not in name:
            return sorted({b[len(name)] for b in BOTTLES if b[: len(name)] == name and len(b) > len(name)}) or [END]
    return [token for token in range(VOCABULARY) if token not in (PAD, END)]


def mix(prompt):
    with mixing:
        ids = mixer.generate(torch.tensor([prompt]), max_new_tokens=TOKENS, num_beams=BEAMS, do_sample=False, pad_token_id=PAD,
                             prefix_allowed_tokens_fn=allowed)
    return ids[0, len(prompt):].tolist()


async def cocktail(request):
    asked = json.loads(await request.body() or b"{}")
    return JSONResponse({"recipe": await asyncio.to_thread(mix, asked.get("prompt", list(range(40, 60))))})


app = Starlette(routes=[Route("/cocktails", cocktail, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
