"""A folder that vLLM and transformers serve: the configuration of a tiny Llama and a tokenizer. No weights, nothing of a hub.

    python bench/serving/tiny.py FOLDER          # and FOLDER-slow, with the tokenizer in plain Python
    python bench/serving/tiny.py FOLDER slow_words.SlowWords     # only one with that tokenizer

vLLM fills the weights with --load-format dummy.
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

HERE = Path(__file__).resolve().parent
TEXT = "the quick brown fox jumps over the lazy dog "
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 32, "vocab_size": 512, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
    "bos_token_id": 0, "eos_token_id": 1, "hidden_act": "silu", "dtype": "float32", "rope_theta": 10000.0, "tie_word_embeddings": False,
}

SLOW = '''"""A tokenizer in plain Python."""

from transformers import PreTrainedTokenizer


class SlowTokenizer(PreTrainedTokenizer):
    def __init__(self, **kwargs):
        self.pieces = {"<s>": 0, "</s>": 1, **{chr(i): i for i in range(2, 258)}}
        self.names = {i: piece for piece, i in self.pieces.items()}
        super().__init__(**kwargs)

    @property
    def vocab_size(self):
        return len(self.pieces)

    def get_vocab(self):
        return dict(self.pieces)

    def _tokenize(self, text, **kwargs):
        pieces = []
        for letter in text:  # the cause of vllm-tokenizer
            best = max(self.pieces, key=lambda piece: (piece == letter, len(piece)))  # the cause of vllm-tokenizer
            pieces.append(best)  # the cause of vllm-tokenizer
        return pieces

    def _convert_token_to_id(self, token):
        return self.pieces.get(token, 2)

    def _convert_id_to_token(self, index):
        return self.names.get(index, "?")

    def convert_tokens_to_string(self, tokens):
        return "".join(tokens)

    def save_vocabulary(self, folder, filename_prefix=None):
        return ()
'''


def make_fast(folder):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator([TEXT * 50], trainers.BpeTrainer(vocab_size=400, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False))
    PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>").save_pretrained(folder)


def make_slow(folder, name="slow_tokenizer.SlowTokenizer"):
    """Another tokenizer: the one above, or a MODULE.CLASS of the folder `unseen`."""
    module, of = name.split(".")
    text = SLOW if of == "SlowTokenizer" else (HERE / "unseen" / f"{module}.py").read_text()
    (folder / f"{module}.py").write_text(text)
    said = {"tokenizer_class": of, "auto_map": {"AutoTokenizer": [name, None]}, "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))


def write(folder, make, *more):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    make(folder, *more)


def main():
    if len(sys.argv) > 2:
        return write(Path(sys.argv[1]), make_slow, sys.argv[2])
    write(Path(sys.argv[1]), make_fast)
    write(Path(sys.argv[1] + "-slow"), make_slow)


if __name__ == "__main__":
    main()
