"""`transformers serve` of a tiny Llama on the CPU: python bench/serving/unseen/hf.py CASE PORT. See unseen.py."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODEL = Path("stoker-runs/serving/tiny-hf").resolve()


def write():
    """A model with weights, which transformers wants."""
    subprocess.run([sys.executable, HERE.parent / "tiny.py", MODEL], check=True)
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(MODEL)
    config.hidden_size, config.intermediate_size, config.num_hidden_layers = 512, 1536, 8
    config.head_dim = 128
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(MODEL)


if __name__ == "__main__":
    if not (MODEL / "model.safetensors").exists():
        write()
    more = ["--continuous-batching", "--cb-num-blocks", "64", "--cb-max-batch-tokens", "256"] if sys.argv[1] == "hf-batching" else []
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(MODEL), "--device", "cpu", "--host", "127.0.0.1"]
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.execv(sys.executable, [*command, "--port", sys.argv[2], *more])
