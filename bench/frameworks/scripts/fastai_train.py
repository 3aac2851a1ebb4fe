"""fastai's Learner."""
import torch
from fastai.callback.progress import ProgressCallback
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner

torch.manual_seed(0)
data = list(zip(torch.randn(4000, 256), torch.randint(10, (4000,))))
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
learner = Learner(DataLoaders(DataLoader(data, bs=16, shuffle=False), DataLoader(data[:400], bs=16)), model, loss_func=torch.nn.CrossEntropyLoss())
learner.remove_cb(ProgressCallback)
with learner.no_logging():
    learner.fit(2)
print("weights", sum(p.sum().item() for p in model.parameters()).hex())
