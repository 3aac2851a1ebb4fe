"""Networks counted on PyTorch's meta device, against published figures and the binary's own table."""

import importlib.util
import unittest

import stoker
from test_verbs import built

HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_VISION = HAS_TORCH and importlib.util.find_spec("torchvision") is not None


@unittest.skipUnless(HAS_TORCH, "no PyTorch here: make test-torch")
class Count(unittest.TestCase):
    def near(self, counted, wanted, share=0.02):
        for name, want in wanted.items():
            if isinstance(want, str):
                self.assertEqual(counted[name], want, name)
            else:
                self.assertLessEqual(abs(counted[name] / want - 1), share, f"{name} is {counted[name]:.6g}, want {want:.6g}")

    @unittest.skipUnless(HAS_VISION, "no torchvision here")
    def test_resnet50(self):
        """4.09 GMAC and 25.6 M parameters; bytes and layers as in the table of `stoker predict --list models`."""
        import torch
        import torchvision

        for batch in (1, 3):
            counted = stoker.count(torchvision.models.resnet50(), torch.empty(batch, 3, 224, 224))
            self.near(counted, {"flops": 2 * 4.09e9, "params": 25.557e6, "bytes": 88.9e6, "kept": 44.5e6, "family": "convnet"})
            self.assertEqual(counted["layers"], 53)

    @unittest.skipUnless(HAS_VISION, "no torchvision here")
    def test_convolutions_by_groups(self):
        """ResNeXt-50's 32 groups: 16 convolutions of 3x3; those of one channel a group are depthwise, which is no group."""
        import torch
        import torchvision

        for batch in (1, 2):
            counted = stoker.count(torchvision.models.resnext50_32x4d(), torch.empty(batch, 3, 224, 224))
            self.near(counted, {"flops": 2 * 4.23e9, "grouped": 0.462e9})
        self.assertNotIn("grouped", stoker.count(torchvision.models.mobilenet_v2(), torch.empty(1, 3, 224, 224)))
        settings = dict(gpu="rtx-3090", batch=256, workers=8, cores=16, storage="nvme", data="imagenet-jpeg", precision="fp16", software="channels-last")
        if built():
            wide, narrow = (stoker.predict(**settings, **{**counted, "grouped": grouped}) for grouped in (counted["grouped"] * 4, None))
            high = [next(s["time_s"]["high"] for s in answer["stages"] if s["stage"] == "compute") for answer in (wide, narrow)]
            self.assertGreater(high[0], 1.1 * high[1])

    @unittest.skipUnless(HAS_VISION, "no torchvision here")
    def test_vit(self):
        """17.56 GMAC, 86.57 M parameters; attention as one operation, also through MultiheadAttention."""
        import torch
        import torchvision

        model = torchvision.models.vit_b_16()
        counted = stoker.count(model, torch.empty(2, 3, 224, 224))
        self.near(counted, {"flops": 2 * 17.56e9, "params": 86.57e6, "bytes": 138e6, "kept": 61.7e6, "family": "transformer"})
        self.assertEqual(counted["layers"], 12)
        self.assertEqual(counted, stoker.count(model.eval(), torch.empty(2, 3, 224, 224)))

    def test_gpt_like(self):
        """A causal block by its formula, samples of token numbers, weights that two layers share."""
        import torch
        from torch.nn import functional

        class Block(torch.nn.Module):
            def __init__(self, width, heads):
                super().__init__()
                self.heads = heads
                self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
                self.into, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
                self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

            def forward(self, x):
                q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.into(self.norms[0](x)).chunk(3, 2))
                x = x + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
                return x + self.down(functional.gelu(self.up(self.norms[1](x))))

        class Model(torch.nn.Module):
            def __init__(self, words=1000, width=256, heads=4, layers=3):
                super().__init__()
                self.words = torch.nn.Embedding(words, width)
                self.blocks = torch.nn.Sequential(*(Block(width, heads) for _ in range(layers)))
                self.head = torch.nn.Linear(width, words, bias=False)
                self.head.weight = self.words.weight

            def forward(self, tokens):
                return self.head(self.blocks(self.words(tokens)))

        tokens, width = 128, 256
        counted = stoker.count(Model(), torch.zeros(4, tokens, dtype=torch.long))
        self.near(counted, {"flops": 2 * tokens * (3 * 12 * width**2 + 1000 * width) + 3 * 4 * width * tokens**2, "family": "transformer"}, 0.001)
        self.near(counted, {"params": 3 * 12 * width**2 + 1000 * width, "bytes": tokens * 2 * (3 * 38 * width + 1000)}, 0.02)
        self.assertEqual((counted["layers"], counted["tokens"]), (3, tokens))

    def test_the_model_stays_as_it_is(self):
        import torch

        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.BatchNorm1d(8))
        before = {name: value.clone() for name, value in model.state_dict().items()}
        counted = stoker.count(model, torch.ones(4, 8))
        self.assertNotIn("family", counted)
        self.assertEqual(counted["flops"], 2 * 64)
        for name, value in model.state_dict().items():
            self.assertEqual(value.device.type, "cpu")
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertTrue(all(p.grad is None for p in model.parameters()))

    def test_what_cannot_be_counted_is_a_sentence(self):
        import torch

        class Asks(torch.nn.Module):
            def forward(self, x):
                return x @ x if x.sum().item() > 0 else x

        for model, given, want in (
            (Asks(), [torch.ones(4, 4)], "reads a tensor's contents"),
            (torch.nn.ReLU(), [torch.ones(4, 4)], "no matrix product"),
            (torch.nn.Linear(4, 4), [], "first dimension is the batch"),
            (torch.nn.Linear(4, 4), [torch.tensor(1.0)], "first dimension is the batch"),
        ):
            with self.assertRaisesRegex(ValueError, want):
                stoker.count(model, *given)

    @unittest.skipUnless(HAS_VISION and built(), "no torchvision, or no binary: make build")
    def test_predict_takes_it(self):
        import torch
        import torchvision

        job = {"gpu": "a100-80gb-sxm", "batch": 256, "precision": "fp16", "software": "channels-last"}
        own = stoker.predict(**job, **stoker.count(torchvision.models.resnet50(), torch.empty(1, 3, 224, 224)))
        known = stoker.predict(**job, model="resnet50")
        mine, table = own["prediction"]["demand"]["samples_per_s"], known["prediction"]["demand"]["samples_per_s"]
        self.assertLess(mine["low"], table["point"])
        self.assertGreater(mine["high"], table["point"])
        self.assertLess(abs(mine["point"] / table["point"] - 1), 0.3)


if __name__ == "__main__":
    unittest.main()
