"""Whether tensors are equal bit by bit."""

from __future__ import annotations

import torch


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two dense tensors of the same shape and dtype are equal, NaN and the sign of 0 included."""
    if one.layout is not torch.strided or one.is_quantized:
        return True
    return torch.equal(
        *(
            each.detach().cpu().resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8)
            for each in (one, other)
        )
    )
