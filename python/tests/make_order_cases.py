"""Prints what the Python reference of order and randomness gives, for the Go tests.

    PYTHONPATH=python python3 python/tests/make_order_cases.py > feed/order/testdata/reference.json

test_order.py checks that the committed file is what this prints. Whole epochs are walked
here, too: `epoch_case(n)` is the n-th of an endless list of trainings with resumes.
"""

import hashlib
import json
import struct
import sys

from stoker.loader import order

TAILS = ("drop", "pad", "short", "even", "trim", "even-drop")
SEEDS = [0, 1, 42, 2**32, 2**64 - 1]


def draws_cases():
    places = [(0, 0, 0), (1, 2, 3), (7, 2**32 - 1, 1), (2, 2**40 - 1, 0xFEFF), (5, 2**48 - 1, 9)]
    for seed in SEEDS:
        for epoch, sample, operation in places:
            draws = order.Draws(seed, epoch, sample, operation)
            yield {
                "seed": seed, "epoch": epoch, "sample": sample, "operation": operation,
                "uint64": [draws.uint64() for _ in range(5)],
                "float64": [draws.float64() for _ in range(3)],
                "below": [[n, draws.below(n)] for n in (1, 2, 7, 1000, 2**31 + 1, 2**62 + 1, 2**62 + 1, 2**62 + 1)],
            }  # fmt: skip


def permutation_cases():
    for seed in SEEDS:
        for samples in (1, 2, 3, 17, 100, 4096, 65536, 65537, 131072, 131073, 1281167, 2**33 + 1, 2**40):
            if samples in (4096, 65536) and seed != 42:
                continue  # slow here
            at = order.permutation(seed, seed % 3, samples)
            positions = range(samples) if samples <= 100 else [i * (samples - 1) // 12 for i in range(13)]
            yield {"seed": seed, "epoch": seed % 3, "samples": samples, "at": [[i, at(i)] for i in positions]}


def plan_cases():
    for samples, world, batch in [(0, 2, 3), (1, 4, 2), (10, 2, 2), (23, 4, 3), (5, 3, 7), (64, 8, 8), (2**40, 1024, 512)]:
        for tail in TAILS:
            for consumed in sorted({0, samples // 3, max(samples - 1, 0), samples}):
                plan = order.Plan(samples, world, batch, tail)
                steps = plan.steps(consumed)
                shown = sorted({s for s in (0, steps - 2, steps - 1) if 0 <= s < steps})
                ranks = range(min(world, 8))
                yield {
                    "samples": samples, "world": world, "batch": batch, "tail": tail, "consumed": consumed, "steps": steps,
                    "taken": [[s, r, plan.after(consumed, s), runs(plan.take(consumed, s, r))] for s in shown for r in ranks],
                }  # fmt: skip


def runs(taken):
    """(position, padding) pairs as runs [first position, length, padding]."""
    found = []
    for position, padding in taken:
        if found and found[-1][2] == padding and position == sum(found[-1][:2]):
            found[-1][1] += 1
        else:
            found.append([position, 1, padding])
    return found


def small_cases():
    for samples in (1, 2, 15, 100, 1281167, 2**40 - 1, 2**40):
        for k in (1, 2, 1000, 2**40):
            position = samples * 2 // 3
            yield {"samples": samples, "position": position, "k": k, "is": order.substitute(position, k, samples)}


def crop_cases():
    sizes = [(500, 375), (1, 1), (3, 2000), (2000, 3), (64, 48), (4000, 3000), (5, 5)]
    forms = [((0.08, 1.0), (3 / 4, 4 / 3)), ((0.9, 1.0), (3.0, 4.0)), ((0.5, 1.0), (0.25, 0.3))]
    forms.append(((0.25, 0.25), (1.0, 1.0)))  # of 5 x 5: a side of 2.5, rounded to even
    for width, height in sizes:
        for scale, ratio in forms:
            for sample in range(7):
                draws = order.Draws(42, 3, sample, 1)
                box = order.resized_crop(draws, width, height, scale, ratio)
                yield {
                    "width": width, "height": height, "scale": scale, "ratio": ratio, "sample": sample,
                    "box": box, "flip": order.flip(draws, 0.3),
                }  # fmt: skip


def epoch_case(number):
    """One epoch of a training that is stopped and resumed with another world and batch."""
    draws = order.Draws(number, 0, 0, 0)
    samples = [1 + draws.below(12), 1 + draws.below(90), 65537 + draws.below(2**20), 2**40 - draws.below(2**39)]
    samples = samples[(0, 1, 1, 1, 1, 1, 2, 3)[draws.below(8)]]
    case = {
        "seed": number, "epoch": draws.below(5), "samples": samples, "shuffle": draws.below(8) > 0,
        "tail": TAILS[draws.below(len(TAILS))], "start": max(0, samples - 100), "legs": [],
    }  # fmt: skip
    resumes, consumed = draws.below(6), case["start"]
    for leg in range(resumes + 1):
        plan = order.Plan(samples, 1 + draws.below(64 >> draws.below(7)), 1 + draws.below(9), case["tail"])
        steps = plan.steps(consumed)
        if leg < resumes and steps > 0:
            steps = draws.below(steps)
        case["legs"].append([plan.world, plan.batch, steps])
        consumed = plan.after(consumed, steps - 1)
    return case | walk(case)


def walk(case):
    """Every rank's every position and sample: their hash, and the digest of the real samples."""
    samples, consumed, seen, real = case["samples"], case["start"], [], []
    at = order.permutation(case["seed"], case["epoch"], samples) if case["shuffle"] else int
    for world, batch, steps in case["legs"]:
        plan = order.Plan(samples, world, batch, case["tail"])
        for step in range(steps):
            for rank in range(world):
                for position, padding in plan.take(consumed, step, rank):
                    sample = at(position)
                    seen += step, rank, position, padding, sample
                    if not padding:
                        real.append(sample)
        consumed = plan.after(consumed, steps - 1)
    trace = hashlib.sha256(struct.pack(f"<{len(seen)}q", *seen)).hexdigest()[:16]
    return {"trace": trace, "digest": order.digest(real), "end": consumed, "left": plan.steps(consumed)}


def reference():
    """The whole file, one case a line."""
    kinds = {
        "draws": draws_cases(), "permutations": permutation_cases(), "plans": plan_cases(),
        "substitutes": small_cases(), "crops": crop_cases(), "epochs": map(epoch_case, range(150)),
    }  # fmt: skip
    lists = []
    for kind, cases in kinds.items():
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        lists.append(f'"{kind}": [\n{lines}\n]')
    return "{\n" + ",\n".join(lists) + "\n}\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
