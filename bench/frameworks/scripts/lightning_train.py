"""A LightningModule under lightning.Trainer: forward and backward run in the optimizer's closure."""
import logging
import warnings

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
lightning.seed_everything(0)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))

    def training_step(self, batch, _):
        self.last = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        return self.last

    def validation_step(self, batch, _):
        self.model(batch[0])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = TensorDataset(torch.randn(4000, 256), torch.randint(10, (4000,)))
module = Module()
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)
trainer.fit(module, DataLoader(data, 16, shuffle=True), DataLoader(data, 16))
print("loss", module.last.item().hex())
