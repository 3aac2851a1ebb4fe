"""nanoGPT's loop: get_batch from an array, accumulation, an evaluation and a checkpoint now and then. No DataLoader."""
import os
import tempfile

import torch

torch.manual_seed(0)
data = torch.randint(500, (100_000,))
layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
model = torch.nn.Sequential(torch.nn.Embedding(500, 64), torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.nn.Linear(64, 500))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)


def get_batch():
    at = torch.randint(len(data) - 65, (8,))
    return torch.stack([data[i : i + 64] for i in at]), torch.stack([data[i + 1 : i + 65] for i in at])


def loss_of(x, y):
    return torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def estimate_loss():
    model.eval()
    losses = [loss_of(*get_batch()) for _ in range(20)]
    model.train()
    return sum(losses) / 20


x, y = get_batch()
for step in range(200):
    if step % 50 == 0:
        estimate_loss()
        with tempfile.TemporaryDirectory() as folder:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(folder, "ckpt.pt"))
    for _ in range(2):
        loss = loss_of(x, y) / 2
        x, y = get_batch()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("loss", loss.item().hex())
