"""A small language model that learns from a critic: rewards over the actions that either of them likes."""

import torch
import torch.nn.functional as F
from common import FIX, done, over
from stoker.emulated import Device

BATCH, BLOCK, VOCAB, TOP = 16, 64, 512, 16


class Model(torch.nn.Module):
    """Logits for each position; the arithmetic is the device's."""

    def __init__(self, gpu, name, seconds):
        super().__init__()
        self.gpu, self.name, self.seconds = gpu, name, seconds
        self.bias = torch.nn.Parameter(torch.zeros(VOCAB))

    def forward(self, ids):
        for layer in range(6):
            self.gpu.launch(self.seconds / 6, f"{self.name}, block {layer}")
        return torch.rand(ids.numel(), VOCAB) + self.bias


def action_space(gpu, student, critic, truth):
    """For each position: what the student, the critic and the text would do next, each once."""
    if FIX:
        for name in ("topk", "topk", "cat", "sort", "compare", "masked fill"):
            gpu.launch(0.0001, name)
        union = torch.cat([student.topk(TOP, 1).indices, critic.topk(TOP, 1).indices, truth[:, None]], 1)
        union, _ = union.sort(1)
        twice = torch.zeros_like(union, dtype=torch.bool)
        twice[:, 1:] = union[:, 1:] == union[:, :-1]
        return union, ~twice
    gpu.launch(0.0001, "topk")
    gpu.launch(0.0001, "topk")
    student_top, critic_top = student.topk(TOP, 1).indices, critic.topk(TOP, 1).indices
    spaces = []
    for position in range(len(truth)):
        actions = {int(truth[position])}
        gpu.item()
        actions.update(student_top[position].tolist())
        gpu.item()
        actions.update(critic_top[position].tolist())
        gpu.item()
        spaces.append(sorted(actions))
    longest = max(map(len, spaces))
    indices = torch.zeros(len(spaces), longest, dtype=torch.long)
    mask = torch.zeros(len(spaces), longest, dtype=torch.bool)
    for position, actions in enumerate(spaces):
        indices[position, : len(actions)] = torch.tensor(actions)
        mask[position, : len(actions)] = True
        gpu.copy(8 * len(actions))
    return indices, mask


def compute_loss(gpu, student, critic, truth):
    indices, mask = action_space(gpu, student.detach(), critic, truth)
    log_probs = F.log_softmax(student, -1).gather(1, indices)
    rewards = F.softmax(critic, -1).gather(1, indices)
    for name in ("log softmax", "gather", "softmax", "gather", "mask", "advantage", "sum"):
        gpu.launch(0.00015, name)
    advantage = (rewards - rewards.mean(1, keepdim=True)) * mask
    return -(advantage * log_probs).sum() / mask.sum()


def main():
    torch.set_num_threads(1)
    gpu, step, samples = Device(spin=False), 0, 0
    student, critic = Model(gpu, "student", 0.012), Model(gpu, "critic", 0.008)
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-4)
    text = torch.randint(0, VOCAB, (200_000,))
    while not over():
        starts = torch.randint(0, len(text) - BLOCK - 1, (BATCH,)).tolist()
        ids = torch.stack([text[s : s + BLOCK] for s in starts])
        truth = torch.cat([text[s + 1 : s + 1 + BLOCK] for s in starts])
        gpu.copy(ids.nbytes + truth.nbytes)
        with torch.no_grad():
            wanted = critic(ids)
        loss = compute_loss(gpu, student(ids), wanted, truth)
        optimizer.zero_grad()
        loss.backward()
        gpu.launch(0.024, "backward")
        optimizer.step()
        gpu.launch(0.001, "adamw")
        step, samples = step + 1, samples + BATCH
        if step % 20 == 0:
            print(f"step {step}: loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
