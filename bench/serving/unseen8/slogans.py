"""Slogans of a language model. FastAPI around vLLM; MODEL is its folder."""

import os
import sys
import threading

import uvicorn
from fastapi import FastAPI
from vllm import LLM, SamplingParams

MODEL, TOKENS = os.environ.get("MODEL", ""), 12


def make(llm):
    app = FastAPI()
    writing = threading.Lock()
    how = SamplingParams(max_tokens=TOKENS, ignore_eos=True, temperature=0.8)

    def write(prompt):
        with writing:
            return llm.generate([prompt], how, use_tqdm=False)[0].outputs[0].text

    @app.post("/slogans")
    def slogan(asked: dict):
        return {"slogan": write("quick brown " + asked.get("product", "fox"))}

    return app


if __name__ == "__main__":
    llm = LLM(model=MODEL, load_format="dummy", dtype="float32", enforce_eager=True, max_model_len=1024, worker_cls="engine.Worker")
    uvicorn.run(make(llm), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
