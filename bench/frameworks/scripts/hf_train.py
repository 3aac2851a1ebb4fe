"""Hugging Face's Trainer on a small BERT."""
import tempfile
import warnings

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

warnings.simplefilter("ignore")
torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128))
data = [{"input_ids": torch.randint(500, (32,)), "labels": i % 2} for i in range(800)]
with tempfile.TemporaryDirectory() as folder:
    args = TrainingArguments(folder, per_device_train_batch_size=8, num_train_epochs=1, use_cpu=True, report_to=[], disable_tqdm=True, save_strategy="no", logging_steps=100)
    print("loss", Trainer(model, args, train_dataset=data).train().training_loss.hex())
