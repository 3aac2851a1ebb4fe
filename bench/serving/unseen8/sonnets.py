"""Sonnets of a language model, with the continuous batching of transformers. aiohttp."""

import asyncio
import itertools
import sys

import torch
from aiohttp import web
from parts import device
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.configuration_utils import ContinuousBatchingConfig

torch.set_num_threads(1)
TOKENS = 10
numbers = itertools.count()


class Poet(LlamaForCausalLM):
    def forward(self, input_ids=None, **kwargs):
        device().launch(0.200, "forward")
        out = super().forward(input_ids=input_ids, **kwargs)
        device().synchronize(spin=False)
        return out


poet = Poet(LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
                        vocab_size=512, eos_token_id=None, bos_token_id=None, max_position_embeddings=512)).eval()


async def sonnet(request):
    asked = await request.json()
    manager, answer, name = request.app["manager"], asyncio.get_running_loop().create_future(), f"sonnet-{next(numbers)}"
    manager.register_result_handler(name, lambda result: result.is_finished() and not answer.done() and answer.set_result(result))
    manager.add_request([ord(c) % 500 + 4 for c in asked.get("about", "a summer's day")], request_id=name, max_new_tokens=TOKENS)
    return web.json_response({"tokens": list((await answer).generated_tokens)})


async def start(app):
    app["manager"].start()


if __name__ == "__main__":
    app = web.Application()
    app["manager"] = poet.init_continuous_batching(
        GenerationConfig(max_new_tokens=TOKENS, do_sample=False, eos_token_id=-1, pad_token_id=0),
        ContinuousBatchingConfig(page_size=32, num_blocks=64, max_batch_tokens=256, max_requests_per_batch=32, use_cuda_graph=False, use_async_batching=False))
    app.on_startup.append(start)
    app.add_routes([web.post("/sonnets", sonnet)])
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
