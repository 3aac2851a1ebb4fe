"""Puts questions.csv to mlsysim, Calculon, llm-analysis and Stoker, and prints one table.

    python3 -m venv VENV && VENV/bin/pip install mlsysim==0.3.0 llm-analysis==0.2.2 pandas==3.1.1 psutil==7.2.2
    git clone https://github.com/calculon-ai/calculon CALCULON && git -C CALCULON checkout caa4b11f8fe1fee3ba57adaacb7590d7deabd053
    VENV/bin/python bench/questions/questions.py --calculon CALCULON --stoker bin/stoker

Each tool is asked with its own defaults. A model that a tool does not ship is given as its file or type
for models, where it has one. Chips are those that the tool ships. A refusal counts as "no answer".
"""

import argparse
import copy
import csv
import json
import logging
import os
import statistics
import subprocess
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))

# layers, width, width of the MLP (of an expert), heads, KV heads, head size, words, parameters, active, experts, chosen, gated
MODELS = {
    "llama-2-7b": (32, 4096, 11008, 32, 32, 128, 32000, 6.74e9, 0, 1, 1, True),
    "llama-2-70b": (80, 8192, 28672, 64, 8, 128, 32000, 69e9, 0, 1, 1, True),
    "llama-3.1-8b": (32, 4096, 14336, 32, 8, 128, 128256, 8.03e9, 0, 1, 1, True),
    "llama-3.1-70b": (80, 8192, 28672, 64, 8, 128, 128256, 70.6e9, 0, 1, 1, True),
    "llama-3.1-405b": (126, 16384, 53248, 128, 8, 128, 128256, 406e9, 0, 1, 1, True),
    "gpt-3-175b": (96, 12288, 49152, 96, 96, 128, 51200, 175e9, 0, 1, 1, False),
    "megatron-22b": (48, 6144, 24576, 64, 64, 96, 51200, 22e9, 0, 1, 1, False),
    "turing-530b": (105, 20480, 81920, 128, 128, 160, 51200, 530e9, 0, 1, 1, False),
    "megatron-1t": (128, 25600, 102400, 160, 160, 160, 51200, 1008e9, 0, 1, 1, False),
    "mixtral-8x7b": (32, 4096, 14336, 32, 8, 128, 32000, 46.7e9, 12.7e9, 8, 2, True),
    "deepseek-v3": (61, 7168, 2048, 128, 128, 128, 129280, 671e9, 36.6e9, 257, 9, True),
    "qwen-3-30b-a3b": (48, 2048, 768, 32, 4, 128, 151936, 30.5e9, 3.04e9, 128, 8, True),
    "qwen-3-235b-a22b": (94, 4096, 1536, 64, 4, 128, 151936, 235e9, 21.6e9, 128, 8, True),
    "gpt-oss-120b": (36, 2880, 2880, 64, 8, 64, 201088, 117e9, 5.13e9, 128, 4, True),
    "bert-large": (24, 1024, 4096, 16, 16, 64, 30522, 335e6, 0, 1, 1, False),
}


class NoAnswer(Exception):
    pass


def whole(q, name, other=1):
    return int(q[name]) if q[name] else other


def in_unit(q, seconds):
    """The step's seconds in the question's unit."""
    if q["unit"] == "s/step":
        return seconds
    return whole(q, "global") * whole(q, "tokens") / seconds / whole(q, "gpus")


def answer_rate(q, first, each):
    """Output tokens/s of a batch whose prompts take first seconds and whose further tokens take each seconds."""
    batch, output = whole(q, "batch"), whole(q, "output")
    return batch * output / (first + each * output)


# --- Stoker


def ask_stoker(q, binary):
    def run(*words):
        done = subprocess.run([binary, "predict", *words, "--json"], capture_output=True, text=True)
        if done.returncode:
            message = done.stderr.strip().splitlines()[0].removeprefix("stoker: error: ")
            raise NoAnswer("no such model" if "is not in the table" in message else message[:60])
        return json.loads(done.stdout)

    common = ["--model", q["model"], "--gpu", q["gpu"], "--precision", q["precision"], "--software", q["software"]]
    if q["kind"] == "train":
        a = run(
            "train", *common, "--gpus", q["gpus"], "--tp", q["tensor"], "--pp", q["pipeline"], "--cp", q["context"], "--ep", q["expert"],
            "--virtual", q["virtual"], "--micro-batch", q["micro"], "--global-batch", q["global"], "--tokens", q["tokens"])
        a = a["step_s"] if q["unit"] == "s/step" else a["tokens_per_s_per_gpu"]
    elif q["kind"] in ("prefill", "decode", "serve"):
        words = ["serve", *common, "--tp", q["tensor"], "--input", q["input"], "--output", q["output"]]
        a = run(*words, *(["--batch", q["batch"]] if q["batch"] else []))
        name, scale = {"ms": ("first_token_s", 1e3), "ms/token": ("each_token_s", 1e3), "tokens/s": ("tokens_per_s", 1)}[q["unit"]]
        a = {end: a[name][end] * scale for end in a[name]}
    else:
        words = [*common, "--batch", q["batch"]] + (["--tokens", q["tokens"]] if q["tokens"] else [])
        a = run(*words, *(["--inference"] if q["kind"] == "net-infer" else []))["prediction"]["demand"]["samples_per_s"]
    return a["point"], a["low"], a["high"]


# --- mlsysim

MLSYSIM_MODELS = {
    "llama-2-7b": "Llama2_7B", "llama-2-70b": "Llama2_70B", "llama-3.1-8b": "Llama3_8B", "llama-3.1-70b": "Llama3_70B",
    "llama-3.1-405b": "Llama3_405B", "gpt-3-175b": "GPT3", "mixtral-8x7b": "Mixtral_8x7B", "deepseek-v3": "DeepSeek_V3",
    "bert-large": "BERT_Large", "resnet50": "ResNet50", "vgg16": "VGG16"}
MLSYSIM_CHIPS = {
    "h100-sxm": "H100", "h200": "H200", "b200": "B200", "a100-80gb-sxm": "A100", "a100-40gb-sxm": "A100_40GB", "mi300x": "MI300X",
    "v100-sxm-16gb": "V100", "v100-sxm-32gb": "V100", "tpu-v5p": "TPUv5p", "tpu-v6e": "TPUv6"}
MLSYSIM_NODES = {
    "h100-sxm": ("DGX_H100", "InfiniBand_NDR"), "a100-80gb-sxm": ("DGX_A100", "InfiniBand_HDR"), "b200": ("DGX_B200", "InfiniBand_NDR"),
    "mi300x": ("Server_8x_MI300X", "InfiniBand_NDR")}


def ask_mlsysim(q):
    from mlsysim.core.units import Q_
    from mlsysim.engine.engine import Engine
    from mlsysim.engine.solvers.distributed import DistributedModel
    from mlsysim.engine.solvers.serving import ServingModel
    from mlsysim.engine.solvers.performance import DecodeBoundModel
    from mlsysim.hardware.registry import Hardware
    from mlsysim.models.registry import Models
    from mlsysim.models.types import SparseTransformerWorkload, TransformerWorkload
    from mlsysim.systems.registry import Fabrics, Nodes
    from mlsysim.systems.types import Fleet, Node

    name = MLSYSIM_MODELS.get(q["model"])
    if name:
        model = getattr(Models.Vision, name, None) or getattr(Models.Language, name)
    else:
        layers, width, _, heads, kv, _, _, parameters, active, experts, chosen, _ = MODELS[q["model"]]
        words = dict(
            name=q["model"], architecture="Transformer", parameters=Q_(parameters, "param"), layers=layers, hidden_dim=width, heads=heads,
            kv_heads=kv)
        model = TransformerWorkload(**words) if experts == 1 else SparseTransformerWorkload(
            **words, active_parameters=Q_(active, "param"), experts=experts, active_experts_per_token=chosen)
    chip = getattr(Hardware.Cloud, MLSYSIM_CHIPS[q["gpu"]])
    precision = {"bf16": "fp16"}.get(q["precision"], q["precision"])

    if q["kind"] == "train":
        node, fabric = MLSYSIM_NODES.get(q["gpu"], (None, "InfiniBand_NDR"))
        # It has TPUs but no machine of them: one is made whose links are those of its chip.
        node = getattr(Nodes, node) if node else Node(
            name="pod", accelerator=chip, accelerators_per_node=whole(q, "gpus"), intra_node_bw=chip.nvlink.bandwidth_per_direction)
        fleet = Fleet(name="asked", node=node, count=whole(q, "gpus") // node.accelerators_per_node, fabric=getattr(Fabrics, fabric))
        split = whole(q, "tensor") * whole(q, "pipeline") * whole(q, "expert")
        replicas = whole(q, "gpus") // split
        answer = DistributedModel().solve(
            model, fleet, batch_size=whole(q, "global"), precision=precision, tp_size=whole(q, "tensor"), pp_size=whole(q, "pipeline"),
            ep_size=whole(q, "expert"), v_stages=whole(q, "virtual"), seq_len=whole(q, "tokens"),
            microbatch_count=max(1, whole(q, "global") // replicas // whole(q, "micro")), zero_stage=1 if q["software"] == "megatron" else 3)
        return in_unit(q, answer.step_latency_total.m_as("s"))
    if q["kind"].startswith("net"):
        if q["tokens"]:
            if q["kind"] == "net-train":
                raise NoAnswer("its BERT has a fixed length")
            return whole(q, "batch") / ServingModel().solve(
                model, chip, seq_len=whole(q, "tokens"), batch_size=whole(q, "batch"), precision=precision).ttft.m_as("s")
        answer = Engine.solve(model, chip, batch_size=whole(q, "batch"), precision=precision, is_training=q["kind"] == "net-train")
        return answer.throughput.m_as("1/s")
    if whole(q, "tensor") > 1:
        if q["kind"] != "decode":
            raise NoAnswer("serving is on one chip")
        answer = DecodeBoundModel().solve(model, chip, precision=precision, batch_size=whole(q, "batch"), tp_size=whole(q, "tensor"))
        return whole(q, "batch") / max(answer.memory_time.m_as("s"), answer.compute_time.m_as("s"))

    def serve(length, batch):
        return ServingModel().solve(model, chip, seq_len=length, batch_size=batch, precision=precision)

    length = whole(q, "input") + whole(q, "output")
    q = dict(q)
    if not q["batch"]:
        batch = 0
        while batch < 4096 and serve(length, batch + 1).feasible:
            batch += 1
        if not batch:
            raise NoAnswer("does not fit")
        q["batch"] = str(batch)
    first, each = serve(whole(q, "input"), whole(q, "batch")), serve(length, whole(q, "batch"))
    if not each.feasible:
        raise NoAnswer("does not fit")
    return {
        "ms": lambda: first.ttft.m_as("ms"), "ms/token": lambda: each.itl.m_as("ms"),
        "tokens/s": lambda: answer_rate(q, first.ttft.m_as("s"), each.itl.m_as("s"))}[q["unit"]]()


# --- Calculon

CALCULON_MODELS = {"gpt-3-175b": "gpt3-175B", "megatron-22b": "megatron-22B", "turing-530b": "turing-530B", "megatron-1t": "megatron-1T"}
CALCULON_SYSTEMS = {"a100-80gb-sxm": "a100_80g", "h100-sxm": "h100_80g_nvl8"}


def ask_calculon(q, folder):
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import calculon
    from calculon.llm import Llm
    from calculon.system import System

    if q["kind"] not in ("train", "prefill"):
        raise NoAnswer("no decoding" if q["kind"] in ("decode", "serve") else "language models only")
    if MODELS[q["model"]][9] > 1:
        raise NoAnswer("no experts")
    if q["gpu"] not in CALCULON_SYSTEMS:
        raise NoAnswer("no such chip")
    layers, width, mlp, heads, _, head, *_, gated = MODELS[q["model"]]
    training = q["kind"] == "train"
    tensor, pipeline, virtual = whole(q, "tensor"), whole(q, "pipeline"), whole(q, "virtual")
    if q["model"] in CALCULON_MODELS:
        model = calculon.io.read_json_file(os.path.join(folder, "models", CALCULON_MODELS[q["model"]] + ".json"))
    else:
        layers = -(-layers // (pipeline * virtual)) * pipeline * virtual
        model = dict(hidden=width, feedforward=mlp * 3 // 2 if gated else mlp, attn_heads=heads, attn_size=head, num_blocks=layers)
    model["seq_size"] = whole(q, "tokens") if training else whole(q, "input")
    gpus = whole(q, "gpus")
    replicas = gpus // (tensor * pipeline)
    execution = dict(
        num_procs=gpus, tensor_par=tensor, pipeline_par=pipeline, data_par=replicas, tensor_par_net=0, pipeline_par_net=1, data_par_net=1,
        batch_size=whole(q, "global"), microbatch_size=whole(q, "micro"), datatype="float8" if q["precision"] == "fp8" else "float16",
        fused_activation=False, attention_type="multihead", activation_recompute="attn_only" if training else "none",
        pipeline_interleaving=virtual, optimizer_sharding=training and replicas > 1, tensor_par_comm_type="rs_ag" if training else "ar",
        tensor_par_overlap="none", seq_par_ag_redo=training, data_par_overlap=False, weight_offload=False, activations_offload=False,
        optimizer_offload=False, training=training)
    log = logging.getLogger("calculon")
    system = System(calculon.io.read_json_file(os.path.join(folder, "systems", CALCULON_SYSTEMS[q["gpu"]] + ".json")))
    try:
        llm = Llm(Llm.Application(model), log)
        llm.compile(system, Llm.Execution.from_json(execution))
        llm.run(system)
    except Llm.Error as error:
        raise NoAnswer(str(error).replace("Mem tier1 needs", "does not fit,").split(" but")[0][:60])
    seconds = llm.get_stats_json(False)["total_time"]
    return in_unit(q, seconds) if training else seconds * 1e3


# --- llm-analysis

LLM_ANALYSIS_MODELS = {
    "llama-2-7b": "NousResearch_Llama-2-7b-hf", "llama-2-70b": "upstage_Llama-2-70b-instruct-v2", "gpt-3-175b": "megatron-lm-175b",
    "turing-530b": "megatron-lm-530b", "bert-large": "bert-large"}
LLM_ANALYSIS_CHIPS = {
    "h100-sxm": "h100-sxm-80gb", "a100-80gb-sxm": "a100-sxm-80gb", "a100-40gb-sxm": "a100-sxm-40gb", "v100-sxm-16gb": "v100-sxm-16gb",
    "v100-sxm-32gb": "v100-sxm-32gb"}


def ask_llm_analysis(q, advised=False):
    """The default takes all of the peaks: a lower bound of the time. Advised: the shares of them that its README names."""
    from llm_analysis import analysis
    from llm_analysis.config import ModelConfig, model_configs

    if q["model"] not in MODELS:
        raise NoAnswer("transformers only")
    if q["gpu"] not in LLM_ANALYSIS_CHIPS:
        raise NoAnswer("no such chip")
    name = LLM_ANALYSIS_MODELS.get(q["model"])
    layers, width, mlp, heads, kv, _, words, _, _, experts, chosen, gated = MODELS[q["model"]]
    if not name:
        name = q["model"]
        model_configs[name] = ModelConfig(
            name=name, num_layers=layers, n_head=heads, hidden_dim=width, vocab_size=words, max_seq_len=131072, num_key_value_heads=kv,
            num_key_value_groups=heads // kv, ffn_embed_dim=mlp, expansion_ratio=mlp / width, moe_num_experts=experts, moe_top_k=chosen)
    common = dict(
        model_name=name, gpu_name=LLM_ANALYSIS_CHIPS[q["gpu"]], log_level="ERROR", tp_size=whole(q, "tensor"),
        dtype_name={"fp8": "w8a8e16", "int8": "w8a16e16"}.get(q["precision"], "w16a16e16"))
    training = q["kind"] in ("train", "net-train")
    if advised:
        common |= dict(flops_efficiency=0.5 if training else 0.7, hbm_memory_efficiency=0.9)
    if training:
        replicas = whole(q, "gpus") // (whole(q, "tensor") * whole(q, "pipeline"))
        whole_batch = whole(q, "global", whole(q, "batch"))
        answer = analysis.train(
            **common, batch_size_per_gpu=whole(q, "micro", whole(q, "batch")), global_batch_size=whole_batch,
            seq_len=whole(q, "tokens"), pp_size=whole(q, "pipeline"), dp_size=replicas, ep_size=whole(q, "expert"),
            total_num_gpus=whole(q, "gpus"),
            ds_zero=1 if q["software"] == "megatron" else 3 if q["software"] == "fsdp" else 0, mlp_gated_linear_units=gated,
            activation_recomputation=1 if q["unit"] == "s/step" else 0)
        seconds = answer["latency_per_iter"]
        return whole_batch / seconds if q["kind"] == "net-train" else in_unit(q, seconds)
    q = dict(q)

    def infer(batch):
        return analysis.infer(
            **common, batch_size_per_gpu=batch, seq_len=whole(q, "tokens", whole(q, "input")), num_tokens_to_generate=whole(q, "output"))

    if not q["batch"]:
        q["batch"] = str(infer(1)["decode_max_batch_size_per_gpu"])
    a = infer(whole(q, "batch"))
    if q["kind"] == "net-infer":
        return whole(q, "batch") / a["prefill_latency"]
    if q["unit"] == "ms":
        return a["prefill_latency"] * 1e3
    if q["unit"] == "ms/token":
        return a["decode_latency"] * 1e3
    return answer_rate(q, a["prefill_latency"], a["decode_latency"])


def number(x):
    return f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--calculon", required=True)
    p.add_argument("--stoker", required=True)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    tools = {
        "Stoker": lambda q: ask_stoker(q, o.stoker), "mlsysim": ask_mlsysim, "Calculon": lambda q: ask_calculon(q, o.calculon),
        "llm-analysis": ask_llm_analysis, "llm-analysis as advised": lambda q: ask_llm_analysis(q, True)}
    shown = list(tools)[:4]
    ratios, inside = {name: {} for name in tools}, {}
    print("| | question | unit | published | " + " | ".join(shown) + " | seen |")
    print("|" + "---|" * (5 + len(shown)))
    questions = list(csv.DictReader(open(os.path.join(HERE, "questions.csv"))))
    for q in questions:
        cells = []
        for name in tools:
            try:
                answer = tools[name](copy.deepcopy(q))
                interval = ""
                if isinstance(answer, tuple):
                    answer, low, high = answer
                    interval = f" ({number(low)} to {number(high)})"
                    if q["published"]:
                        inside[q["id"]] = low <= float(q["published"]) <= high
                cell = number(answer) + interval
                if q["published"]:
                    ratio = answer / float(q["published"])
                    ratios[name][q["id"]] = ratio
                    cell += f", **{ratio:.2f}**"
            except NoAnswer as error:
                cell = f"no answer: {error}"
            except (AssertionError, ValueError, AttributeError, KeyError, TypeError, ZeroDivisionError) as error:
                if o.verbose:
                    import traceback
                    traceback.print_exc()
                cell = "no answer: " + (str(error).replace("\n", " ")[:60] or type(error).__name__)
            cells.append(cell)
        what = [q["kind"], q["model"], q["gpus"] + " x " + q["gpu"], q["precision"], q["software"]]
        for letter, column in (
                ("tp", "tensor"), ("pp", "pipeline"), ("cp", "context"), ("ep", "expert"), ("virtual ", "virtual"), ("micro ", "micro")):
            if whole(q, column) > 1:
                what.append(letter + q[column])
        for word, column in (("step of ", "global"), ("tokens ", "tokens"), ("in ", "input"), ("out ", "output"), ("batch ", "batch")):
            if q[column]:
                what.append(word + q[column])
        if q["kind"] == "serve" and not q["batch"]:
            what.append("full load")
        published = number(float(q["published"])) if q["published"] else "none"
        print(f"| {q['id']} | {', '.join(what)} | {q['unit']} | {published} | " + " | ".join(cells[:4]) + f" | {q['seen']} |", flush=True)

    def line(name, kinds, only=None):
        kind_of = {q["id"]: q["kind"] for q in questions}
        r = [v for i, v in ratios[name].items() if (only is None or i in only) and kind_of[i] in kinds]
        if not r:
            return "none"
        off = sorted(max(v, 1 / v) - 1 for v in r)
        plain = sorted(abs(v - 1) for v in r)
        return f"{len(r)}: {100 * statistics.median(plain):.0f} %, {100 * sum(x <= 0.25 for x in plain) / len(r):.0f} %, worst {1 + off[-1]:.1f}x"

    fresh = {q["id"] for q in questions if q["seen"] == "no"}
    groups = {
        "all": None, "training": {"train"}, "prefill": {"prefill"}, "decode": {"decode"}, "serving": {"serve"},
        "other networks": {"net-train", "net-infer"}}
    kinds = {q["kind"] for q in questions}
    print("\n| answered: median error, share within 25 %, worst | " + " | ".join(tools) + " |")
    print("|" + "---|" * (1 + len(tools)))
    for group, which in groups.items():
        print(f"| {group} | " + " | ".join(line(name, which or kinds) for name in tools) + " |")
    print("| in no table of ours | " + " | ".join(line(name, kinds, fresh) for name in tools) + " |")
    for name in list(tools)[1:]:
        both = set(ratios["Stoker"]) & set(ratios[name])
        print(f"\nOn the questions that {name} and Stoker both answer: {name} {line(name, kinds, both)}. Stoker {line('Stoker', kinds, both)}.")
    print(f"\nStoker's interval holds {sum(inside.values())} of {len(inside)} published figures.")


main()
