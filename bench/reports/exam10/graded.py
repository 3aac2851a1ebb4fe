"""A language model learns to reason: it answers each question many times, and functions in Python grade the answers."""

# https://github.com/google/tunix/pull/1904
# Cause: three reward functions in pure Python go over the whole batch, one answer after the other, while the devices wait.
# Fix: a pool of processes grades parts of the batch (reward_num_workers): 30 of 156 seconds of a step were spent there.
# Line: 21, 25 to 30, 35 to 40, 45 to 50, 63, 89: the reward functions, called by SequenceRewardManager in train_step.

import multiprocessing
import random
import re

from common import FIX, done, over
from stoker.emulated import Device

QUESTIONS, GENERATIONS, WORDS = 16, 8, 300
FORM = re.compile(r"^<reasoning>.+?</reasoning>\s*<answer>(.+?)</answer>\s*$", re.DOTALL)
LEXICON = [f"w{n}" for n in range(400)]


def match_format(completions, answers):
    return [3.0 if FORM.match(completion) else 0.0 for completion in completions]


def edit_distance(one, other):
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def check_answer(completions, answers):
    """How near the answer comes to the right one."""
    scores = []
    for completion, answer in zip(completions, answers, strict=True):
        found = FORM.match(completion)
        guess = found.group(1) if found else completion[-40:]
        scores.append(1 - edit_distance(guess, answer) / max(len(guess), len(answer)))
    return scores


def no_repetition(completions, answers):
    """Runs of three words that come again cost."""
    scores = []
    for completion in completions:
        words = completion.split()
        runs = [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]
        scores.append(-sum(runs.count(run) > 1 for run in runs) / len(runs))
    return scores


REWARDS = [match_format, check_answer, no_repetition]


class SequenceRewardManager:
    def __init__(self, reward_num_workers=0):
        self.workers = reward_num_workers
        self.pool = multiprocessing.get_context("fork").Pool(reward_num_workers) if reward_num_workers else None

    def __call__(self, completions, answers):
        if not self.pool:
            return [reward(completions, answers) for reward in REWARDS]
        size = -(-len(completions) // (4 * self.workers))
        parts = [slice(i, i + size) for i in range(0, len(completions), size)]
        jobs = [[self.pool.apply_async(reward, (completions[p], answers[p])) for p in parts] for reward in REWARDS]
        return [[score for job in row for score in job.get()] for row in jobs]


class GRPOLearner:
    def __init__(self, gpu, rewards):
        self.gpu, self.rewards, self.draw = gpu, rewards, random.Random(0)

    def rollout(self):
        for token in range(40):
            self.gpu.launch(0.0025, f"decode {token}")
        self.gpu.item()
        completions, answers = [], []
        for _ in range(QUESTIONS):
            answer = " ".join(self.draw.choices(LEXICON, k=24))
            for _ in range(GENERATIONS):
                thought, guess = self.draw.choices(LEXICON, k=WORDS), self.draw.choices(LEXICON, k=24)
                completions.append(f"<reasoning>{' '.join(thought)}</reasoning> <answer>{' '.join(guess)}</answer>")
                answers.append(answer)
        return completions, answers

    def train_step(self):
        completions, answers = self.rollout()
        scores = self.rewards(completions, answers)
        totals = [sum(parts) for parts in zip(*scores, strict=True)]
        for micro_batch in range(4):
            self.gpu.launch(0.024, f"policy, reference, backward {micro_batch}")
        self.gpu.launch(0.004, "adamw")
        return sum(totals) / len(totals), len(completions)


def main():
    manager = SequenceRewardManager(2 if FIX else 0)
    gpu, samples, step = Device(spin=False), 0, 0
    learner = GRPOLearner(gpu, manager)
    while not over():
        reward, count = learner.train_step()
        step, samples = step + 1, samples + count
        print(f"step {step}: rewards/overall={reward:.3f}", flush=True)
    done(gpu, samples)
    if manager.pool:
        manager.pool.terminate()


if __name__ == "__main__":
    main()
