"""Accelerate's usual loop, with accumulation."""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=4, cpu=True)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
data = TensorDataset(torch.randn(4000, 256), torch.randint(10, (4000,)))
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), DataLoader(data, 16, shuffle=True))
for _ in range(2):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
print("loss", loss.item().hex())
