"""The cost of a network, counted without running it: FLOP, bytes, parameters, layers.

The model is copied to PyTorch's meta device, where tensors have shapes and no contents. So counting
needs no GPU, hardly any memory and little time. The result describes the network to predict()::

    from torchvision.models import resnet50
    stoker.predict(gpu="h100-sxm", batch=256, **stoker.count(resnet50(), torch.empty(1, 3, 224, 224)))
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    import torch

# Matrix products, whose operands and results pass through device memory.
_PRODUCTS = {"convolution", "_convolution", "mm", "addmm", "bmm", "baddbmm"}
# Normalisations, with the activation after them, which is fused or in place.
_NORMS = {
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
    "_batch_norm_with_update",
    "_batch_norm_no_update",
    "native_layer_norm",
    "native_group_norm",
    "_fused_rms_norm",
}
# Operations that create or move tensors without computing.
_NO_WORK = {
    *("clone", "copy_", "_to_copy", "empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like"),
    *("full", "arange", "detach", "lift_fresh", "fill_", "zero_", "_unsafe_view", "_reshape_alias"),
}
_HALF = 2  # bytes of a number at 16 bits


def count(model: torch.nn.Module, *inputs: Any, **more: Any) -> dict[str, Any]:
    """Count what one sample costs the network: settings for predict().

    inputs and more are the model's arguments: tensors whose first dimension is the batch, on any
    device; their contents do not matter. In the result, "flops" is the forward pass, with 2 per
    multiply-add and attention over all pairs of tokens. "bytes" is moved through device
    memory and "kept" is stored for the backward pass, both at 16 bits. "layers" counts
    convolutions, or blocks with attention. "family" is missing if neither is most of the work, and
    "grouped", the part of "flops" in grouped convolutions, if there are none.

    Raises ValueError if the model's Python code needs a tensor's contents (item(), data-dependent
    shapes).
    """
    import torch
    from torch.utils._pytree import tree_leaves, tree_map

    def empty(value: object) -> Any:
        return torch.empty_like(value, device="meta") if isinstance(value, torch.Tensor) else value

    given, named = tree_map(empty, (inputs, more))
    tensors = [t for t in tree_leaves((given, named)) if isinstance(t, torch.Tensor)]
    if not tensors or tensors[0].dim() == 0 or tensors[0].shape[0] == 0:
        raise ValueError(
            "count needs what the model is called with: tensors whose first dimension is the batch, such as "
            "torch.empty(1, 3, 224, 224)"
        )
    shadow = _shadow(model, torch)
    tally = _tally(shadow, torch)
    try:
        tally.run(lambda: shadow(*given, **named))
    except (NotImplementedError, RuntimeError) as error:
        if "meta" not in str(error).lower():
            raise
        raise ValueError(f"count runs the model without data, but the model reads a tensor's contents: {error}") from error
    answer = tally.settings(tensors[0].shape[0], sum(p.numel() for p in model.parameters()))
    if tensors[0].dim() == 2 and not tensors[0].is_floating_point():
        answer["tokens"] = tensors[0].shape[1]
    return answer


def _shadow(model: torch.nn.Module, torch: ModuleType) -> Any:
    """Copy the model to the meta device, without copying its parameters."""
    memo: dict[int, Any] = {}
    for tensor in (*model.parameters(), *model.buffers()):
        other = torch.empty_like(tensor, device="meta")
        if isinstance(tensor, torch.nn.Parameter):
            other = torch.nn.Parameter(other, requires_grad=tensor.requires_grad)
        memo[id(tensor)] = other
    return copy.deepcopy(model, memo)


def _tally(shadow: torch.nn.Module, torch: ModuleType) -> Any:
    """Make an object that counts while a model runs. Its class is local, as PyTorch is imported
    late."""
    from unittest import mock

    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from torch.utils.flop_counter import FlopCounterMode

    def tensors_of(*values: Any) -> list[Any]:
        return [t for t in tree_leaves(values) if isinstance(t, torch.Tensor)]

    def place(tensor: torch.Tensor) -> int:
        return tensor.untyped_storage()._cdata

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_args: Any, **_more: Any) -> Any:
        """Count attention as one operation, as fused kernels do; the meta device would split it."""
        out = torch.empty(
            (*query.shape[:-1], value.shape[-1]),
            device="meta",
            dtype=query.dtype,
            requires_grad=torch.is_grad_enabled(),
        )
        tally.attend(query, key, value, out)
        return out

    class Tally(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.weights = {place(t): t for t in (*shadow.parameters(), *shadow.buffers())}
            self.kept: dict[int, Any] = {}  # by storage; holding the tensors keeps each storage's address unique
            self.products = self.pointwise = self.attention_flops = self.volume = self.plane = self.grouped = 0.0
            self.attentions = self.convolutions = self.multiplied = 0
            self.flops = FlopCounterMode(display=False)

        def run(self, call: Callable[[], object]) -> None:
            fused = mock.patch.object(torch.nn.functional, "scaled_dot_product_attention", attention)
            with (
                torch.enable_grad(),
                fused,
                torch.autograd.graph.saved_tensors_hooks(self.keep, lambda t: t),
                self.flops,
                self,
            ):
                call()

        def keep(self, tensor: torch.Tensor) -> Any:
            if place(tensor) not in self.weights:
                self.kept[place(tensor)] = tensor
            return tensor

        def attend(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor) -> None:
            pairs = query.numel() // query.shape[-1] * key.shape[-2]
            self.attention_flops += 2 * pairs * (query.shape[-1] + value.shape[-1])
            self.attentions += 1
            self.products += sum(t.numel() for t in (query, key, value, out))
            for tensor in (query, key, value, out):
                self.keep(tensor)

        def __torch_dispatch__(
            self,
            function: torch._ops.OpOverload,
            types: Sequence[type],
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            given, results = tensors_of(args, kwargs), tensors_of(result)
            name = function._schema.name.split("::")[-1]
            if given and all(place(t) in self.weights for t in given):
                self.weights.update((place(t), t) for t in results)  # another form of a weight
            elif not function.is_view and name not in _NO_WORK:
                self.work(name, given, results, args)
            return result

        def work(self, name: str, given: list[Any], results: list[Any], args: tuple[Any, ...]) -> None:
            moved = sum(t.numel() for t in given + results if t.is_floating_point() and place(t) not in self.weights)
            if name in _NORMS:
                moved = 2 * results[0].numel()  # statistics are small, or empty
            if name in _PRODUCTS or name in _NORMS:
                self.products += moved
            elif not name.endswith("_") and not (
                name == "add" and any(place(t) in self.weights for t in given)
            ):  # a bias is added with the product
                self.pointwise += moved
            if "softmax" in name and results[0].dim() >= 3:
                self.attentions += 1
            if name in ("convolution", "_convolution"):
                self.convolutions += 1
                work = results[0].numel() * args[1][0].numel()
                if args[8] > 1 and args[1].shape[1] > 1:  # groups of one channel are depthwise
                    self.grouped += 2 * work
                self.volume, self.plane = (
                    self.volume + work * (results[0].dim() == 5),
                    self.plane + work * (results[0].dim() < 5),
                )
            elif name in _PRODUCTS:
                self.multiplied += 1

        def settings(self, batch: int, params: int) -> dict[str, Any]:
            flops = self.flops.get_total_flops() + self.attention_flops
            if not flops > 0:
                raise ValueError("count found no matrix product and no convolution in the model")
            family, layers, moved = None, self.multiplied + self.convolutions, self.products + self.pointwise
            if 2 * 2 * (self.volume + self.plane) > flops:
                family, layers, moved = (
                    ("volume" if self.volume > self.plane else "convnet"),
                    self.convolutions,
                    self.products,
                )
            elif self.attentions:
                family, layers = "transformer", self.attentions
            kept = sum(
                t.untyped_storage().nbytes()
                // t.element_size()
                * (_HALF if t.is_floating_point() else t.element_size())
                for t in self.kept.values()
            )
            per_sample = {
                "flops": flops / batch,
                "bytes": _HALF * moved / batch,
                "kept": kept / batch,
                "grouped": self.grouped / batch,
            }
            answer = {**per_sample, "params": params, "layers": layers, "family": family}
            return {name: value for name, value in answer.items() if value}

    tally = Tally()
    return tally
