"""A heavy __getitem__: a blur by hand, in Python's own loops."""
import torch
from torch.utils.data import DataLoader, Dataset


def blur(rows):
    return [[(row[max(0, i - 1)] + row[i] + row[min(len(row) - 1, i + 1)]) / 3 for i in range(len(row))] for row in rows]


class Pictures(Dataset):
    def __len__(self):
        return 2400

    def __getitem__(self, index):
        rows = torch.rand(64, 64, generator=torch.Generator().manual_seed(index)).tolist()
        return torch.tensor(blur(rows)), index % 10


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64 * 64, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for x, y in DataLoader(Pictures(), 16, num_workers=1):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("loss", loss.item().hex())
