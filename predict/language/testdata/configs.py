#!/usr/bin/env python3
"""Writes configs.jsonl: configurations as transformers saves them, and the parameters that its own model of each has.

    python/.venv/bin/python predict/language/testdata/configs.py

The models are built on the meta device: they have sizes, and no weights.
"""

import json
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM

LLAMA = {"num_key_value_heads": 8, "vocab_size": 128256}
KINDS = {
    "llama": ("LlamaConfig", LLAMA | {"hidden_size": 4096, "intermediate_size": 14336}),
    "llama-tied": ("LlamaConfig", LLAMA | {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "tie_word_embeddings": True}),
    "mixtral": ("MixtralConfig", {}),
    "deepseek-v3": ("DeepseekV3Config", {}),
    "deepseek-v2": ("DeepseekV2Config", {"q_lora_rank": None, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6}),
    "qwen2": ("Qwen2Config", {}),
    "qwen2-moe": ("Qwen2MoeConfig", {}),
    "qwen3-moe": ("Qwen3MoeConfig", {"num_hidden_layers": 48, "head_dim": 128, "num_experts": 128, "mlp_only_layers": [0, 1]}),
    "gpt-oss": ("GptOssConfig", {}),
    "gemma3": ("Gemma3TextConfig", {}),
    "llama4-scout": ("Llama4TextConfig", {"num_local_experts": 16, "interleave_moe_layer_step": 1}),
    "llama4-maverick": ("Llama4TextConfig", {"num_local_experts": 128, "interleave_moe_layer_step": 2}),
    "phi3": ("Phi3Config", {}),
    "gpt2": ("GPT2Config", {}),
    "opt": ("OPTConfig", {}),
    "falcon": ("FalconConfig", {}),
    "starcoder2": ("Starcoder2Config", {}),
    "gpt-neox": ("GPTNeoXConfig", {}),
}


def main():
    lines = []
    for name, (kind, values) in KINDS.items():
        try:
            config = getattr(transformers, kind)(**values)
            with torch.device("meta"):
                model = AutoModelForCausalLM.from_config(config)
        except Exception as problem:  # noqa: BLE001: which are left out is seen
            print(f"{name}: {type(problem).__name__}: {problem}")
            continue
        parameters = sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())
        saved = json.loads(config.to_json_string(use_diff=True))
        lines.append(json.dumps({"name": name, "parameters": parameters, "config": saved}))
        print(f"{name}: {parameters / 1e9:.3f} B")
    Path(__file__).with_name("configs.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
