"""Two encoders learn which passages answer a question: dense retrieval."""

# https://github.com/facebookresearch/DPR/issues/113
# Cause: create_biencoder_input makes each batch in the training loop: all its questions and passages are tokenised, one by one.
# Fix: tokenise all text before training and keep the tensors: the loop only stacks them.
# Line: 33 to 72, 81 to 88, 115: create_biencoder_input in main, and BertTokenizer below it.

import random
import unicodedata

import torch
from common import FIX, done, over
from stoker.emulated import Device

LENGTH, BATCH = 192, 8


def write_passages(count=320):
    draw = random.Random(0)
    syllables = ["ka", "lo", "mi", "ter", "an", "sho", "ul", "ve", "rin", "po", "qua", "est"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(4000)]
    passages = [f"{' '.join(draw.choices(words, k=draw.randint(110, 170)))}, {draw.choice(words)}." for _ in range(count)]
    return passages, words, syllables


class BertTokenizer:
    """Words in lower case without accents, then the longest known pieces."""

    def __init__(self, words, syllables):
        known = [w for w in words[::2] if len(w) < 9] + syllables + ["##" + s for s in syllables] + [",", "."]
        self.vocab = {piece: i for i, piece in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(known)])}

    def basic(self, text):
        words, current = [], []
        for char in unicodedata.normalize("NFD", text.lower()):
            kind = unicodedata.category(char)
            if kind == "Mn":
                continue
            if char.isspace() or kind.startswith("P"):
                words.append("".join(current))
                current = []
                if kind.startswith("P"):
                    words.append(char)
            else:
                current.append(char)
        return [word for word in [*words, "".join(current)] if word]

    def pieces(self, word):
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.vocab:
                    break
            else:
                return [1]
            found.append(self.vocab[piece])
            start = end
        return found

    def encode(self, title, text):
        ids = [2, *(i for word in self.basic(title) for i in self.pieces(word)), 3]
        ids += [i for word in self.basic(text) for i in self.pieces(word)]
        return ids[: LENGTH - 1] + [3]


class Tensorizer:
    def __init__(self, tokenizer):
        self.tokenizer, self.saved = tokenizer, {}

    def text_to_tensor(self, title, text):
        if FIX and (title, text) in self.saved:
            return self.saved[title, text]
        ids = self.tokenizer.encode(title, text)
        tensor = torch.tensor(ids + [0] * (LENGTH - len(ids)))
        if FIX:
            self.saved[title, text] = tensor
        return tensor


def create_biencoder_input(samples, tensorizer, passages, draw):
    questions, contexts, positives = [], [], []
    for number in samples:
        hard = draw.randrange(len(passages))
        positives.append(len(contexts))
        contexts += [tensorizer.text_to_tensor(f"title {n}", passages[n]) for n in (number, hard)]
        questions.append(tensorizer.text_to_tensor("", passages[number][:120]))
    return torch.stack(questions), torch.stack(contexts), positives


class BiEncoder:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, questions, contexts):
        self.gpu.copy(questions.nbytes + contexts.nbytes)
        self.gpu.launch(0.0015, "question encoder")
        self.gpu.launch(0.003, "context encoder")
        self.gpu.launch(0.0055, "nll loss, backward, adam")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, step, draw = Device(spin=False), 0, 0, random.Random(1)
    passages, words, syllables = write_passages()
    tensorizer, model = Tensorizer(BertTokenizer(words, syllables)), BiEncoder(gpu)
    if FIX:
        for number, passage in enumerate(passages):
            tensorizer.text_to_tensor(f"title {number}", passage)
            tensorizer.text_to_tensor("", passage[:120])
    rolling = 0.0
    while not over():
        chosen = draw.sample(range(len(passages)), BATCH)
        questions, contexts, _ = create_biencoder_input(chosen, tensorizer, passages, draw)
        rolling += model.train_step(questions, contexts)
        step, samples = step + 1, samples + BATCH
        if step % 50 == 0:
            print(f"Epoch: 0: Step: {step}/7358, loss={rolling / 50:.6f}, lr=0.000020", flush=True)
            rolling = 0.0
    done(gpu, samples)


if __name__ == "__main__":
    main()
