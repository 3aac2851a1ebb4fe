"""An agent that has worked for long: a conversation of many turns becomes a prompt. FastAPI."""

import asyncio
import sys

import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, infer
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

TURNS = 900
TEMPLATE = """
{%- set ns = namespace(system='', last=0) -%}
{%- for m in messages if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endfor -%}
{%- for m in messages -%}
{%- if m.role == 'system' -%}{%- set ns.system = m.content | trim -%}
{%- elif m.role == 'user' -%}<|user|>{{ m.content | trim }}<|end|>
{%- elif m.role == 'tool' -%}<|tool|>{{ {'name': m.name, 'content': m.content} | tojson }}<|end|>
{%- else -%}<|assistant|>
{%- for call in m.get('calls', []) -%}<|call|>{{ call | tojson }}{%- endfor -%}
{{ m.content.split('</think>')[-1] | trim }}<|end|>{%- endif -%}
{%- endfor -%}<|assistant|>
"""
words = Tokenizer(models.WordLevel({"[UNK]": 0, "w": 1, "the": 2, "file": 3}, unk_token="[UNK]"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", chat_template=TEMPLATE)
model = Net(0.040, 0.0).eval()
gpu = asyncio.Lock()
app = FastAPI()


def history(turns):
    """What the agent did so far: it asked for files and got them."""
    said = [{"role": "system", "content": "you look after a repository"}]
    for n in range(turns):
        said.append({"role": "user", "content": f"look into the file {n} " + "w " * 12})
        said.append({"role": "assistant", "content": "<think>the file</think> I read the file",
                     "calls": [{"name": "read", "arguments": {"path": f"src/file{n}.py", "lines": [n, n + 40], "mode": "text"}}]})
        said.append({"role": "tool", "name": "read", "content": f"def file{n}(): return {n} " + "w " * 25})
    return said


HISTORY = history(TURNS)


@app.post("/v1/chat/completions")
async def complete(asked: dict):
    messages = asked.get("messages", HISTORY)
    prompt = tokenizer.apply_chat_template(messages, tokenize=False)
    async with gpu:
        await asyncio.to_thread(infer, model, torch.zeros(1, 8))
    return {"choices": [{"message": {"role": "assistant", "content": "done"}}], "usage": {"characters": len(prompt)}}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
