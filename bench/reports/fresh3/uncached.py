"""Captions are generated without the cache of keys and values (chs20/RobustVLM#27)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from transformers import LlamaConfig, LlamaForCausalLM

PATCHES, WORDS = 576, 20


class CocoCaptions(Dataset):
    def __len__(self):
        return 5000

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64), torch.randint(3, 200, (PATCHES + 24,))


class Llava:
    def __init__(self, gpu):
        config = LlamaConfig(
            vocab_size=200, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
            max_position_embeddings=1024, pad_token_id=0, eos_token_id=None,
        )
        self.gpu, self.model = gpu, LlamaForCausalLM(config).eval()
        self.model.register_forward_pre_hook(self.launch, with_kwargs=True)

    def launch(self, module, args, kwargs):
        """A step of decoding reads all weights, and each token costs arithmetic."""
        tokens = kwargs["input_ids"].numel()
        self.gpu.launch(0.010 + 0.00002 * tokens, "decoder")

    @torch.inference_mode()
    def get_outputs(self, batch_images, input_ids):
        self.gpu.copy(batch_images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.015, "vision tower")
        output_ids = self.model.generate(
            input_ids, attention_mask=torch.ones_like(input_ids), do_sample=False, max_new_tokens=WORDS, use_cache=FIX,
        )
        self.gpu.item()
        return output_ids[:, input_ids.shape[1] :]


def evaluate_captioning(eval_model, loader):
    samples, predictions = 0, []
    for batch_images, input_ids in loader:
        predictions.extend(eval_model.get_outputs(batch_images, input_ids).tolist())
        samples += len(batch_images)
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(CocoCaptions(), batch_size=1, num_workers=1, pin_memory=True)
    done(gpu, evaluate_captioning(Llava(gpu), loader))


if __name__ == "__main__":
    main()
