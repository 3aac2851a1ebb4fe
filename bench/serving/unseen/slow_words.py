"""A tokenizer in plain Python that is slow when it turns tokens into text: see unseen.py."""

from transformers import PreTrainedTokenizer


class SlowWords(PreTrainedTokenizer):
    def __init__(self, **kwargs):
        self.pieces = {"<s>": 0, "</s>": 1, **{chr(i): i for i in range(2, 258)}}
        super().__init__(**kwargs)

    @property
    def vocab_size(self):
        return len(self.pieces)

    def get_vocab(self):
        return dict(self.pieces)

    def _tokenize(self, text, **kwargs):
        return list(text)

    def _convert_token_to_id(self, token):
        return self.pieces.get(token, 2)

    def _convert_id_to_token(self, index):
        return chr(index) if index > 1 else "?"

    def convert_tokens_to_string(self, tokens):
        for _ in range(1500):  # the cause of vllm-words
            text = "".join(sorted(tokens, key=len)).replace("  ", " ").strip()  # the cause of vllm-words
        return text

    def save_vocabulary(self, folder, filename_prefix=None):
        return ()
