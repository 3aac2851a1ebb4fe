"""Chinese words are separated by an LSTM of both directions under a conditional random field."""

# https://github.com/WhiteGive-Boy/CWS-Hmm_BiLSTM-CRF/issues/2
# Cause: one sentence at a time goes through the network, and the field's sum over paths is some tiny kernels a character.
# Fix: batches of sentences: the same number of kernels does all of them.
# Line: 13, BATCH of 1 (the kernels come from the loop at 55 to 58).

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, TAGS, HIDDEN = 32 if FIX else 1, 4, 200


class PeoplesDaily(Dataset):
    def __init__(self, count=9000):
        self.lengths = torch.randint(24, 49, (count,)).tolist()

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return torch.full((self.lengths[i],), i % 4500), torch.arange(self.lengths[i]) % TAGS


def pad(samples):
    sentences, tags = zip(*samples, strict=True)
    sequence = torch.nn.utils.rnn.pad_sequence
    return sequence(sentences, batch_first=True), sequence(tags, batch_first=True, padding_value=-1)


class CWS(torch.nn.Module):
    """What the device would compute is computed here for a single sentence: it has four tags."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.transitions = gpu, torch.randn(TAGS, TAGS)

    def run(self, seconds, name, function, *arguments):
        self.gpu.launch(seconds, name)
        return function(*arguments)

    def _get_lstm_features(self, sentences):
        rows, length = sentences.shape
        self.gpu.copy(sentences.nbytes)
        self.gpu.launch(0.00002, "embedding")
        self.gpu.launch(length * (0.000006 + 4e-7 * rows), "lstm, both directions")
        self.gpu.launch(0.00003, "linear")
        return torch.zeros(length, TAGS)

    def _forward_alg(self, features):
        small = 0.000002
        alpha = torch.full((TAGS,), -10000.0)
        for feature in features:
            scores = self.run(small, "expand, add", torch.add, alpha[None], self.transitions)
            scores = self.run(small, "add", torch.add, scores, feature[:, None])
            alpha = self.run(small, "logsumexp", torch.logsumexp, scores, 1)
        return self.run(small, "logsumexp", torch.logsumexp, alpha, 0)

    def neg_log_likelihood(self, sentences, tags):
        features = self._get_lstm_features(sentences)
        total = self._forward_alg(features)
        for feature in features:
            self.run(0.000002, "gather", torch.sum, feature)
        return total

    def backward(self, rows, length):
        for _ in range(4 * length):
            self.gpu.launch(0.000002, "backward of the field")
        self.gpu.launch(length * (0.000012 + 8e-7 * rows), "backward of lstm")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = CWS(gpu)
    loader = DataLoader(PeoplesDaily(), BATCH, shuffle=True, num_workers=1, collate_fn=pad, persistent_workers=True)
    while not over():
        for sentences, tags in loader:
            model.neg_log_likelihood(sentences, tags)
            model.backward(*sentences.shape)
            gpu.launch(0.00012, "adam")
            step, samples = step + 1, samples + len(sentences)
            if step % 200 == 0:
                print(f"epoch 0 step {step}, loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
