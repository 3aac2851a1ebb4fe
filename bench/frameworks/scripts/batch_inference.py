"""Batch inference over inputs that the loop makes: no DataLoader, no optimizer."""
import torch

torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
with torch.inference_mode():
    for _ in range(300):
        y = model(torch.randn(8, 64, 64).cumsum(1))
print("sum", y.sum().item().hex())
