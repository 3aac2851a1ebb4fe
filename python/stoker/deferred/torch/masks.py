"""Writes a number to a tensor where a mask of the same picture is true: `tensor[tensor == 255] =
0`."""

from __future__ import annotations

from typing import Any

import torch

from ..recipes.pictures import Recipe
from ..recipes.plan import Call, Plan, Steps, make_call


def put_where(plan: Plan, mask: Plan, new: float) -> Plan | None:
    """Return the plan after the write, or None if the mask was not computed from the same picture."""
    if plan.tail or mask.tail or mask.dtype is not torch.bool:
        return None
    if plan.recipe is None or mask.recipe is None or plan.steps is None or mask.steps is None:
        return None
    begin, axes = plan.steps.begin, plan.layout.axes
    if _picture_key(plan.recipe) != _picture_key(mask.recipe) or {mask.layout.axes, begin.axes, mask.steps.begin.axes} != {axes}:
        return None
    before = plan._replace(steps=Steps(begin, (), begin), dtype=begin.dtype)
    after = before.then(make_call(_put_where, (plan.steps.calls, mask.steps.calls, new), {}))
    return after if after is not None and after.layout == plan.layout and after.shape == plan.shape else None


def _picture_key(recipe: Recipe) -> tuple[Any, ...]:
    return recipe.source, recipe.ops, recipe.mode, recipe.size


def _put_where(value: torch.Tensor, calls: tuple[Call, ...], mask_calls: tuple[Call, ...], new: float) -> torch.Tensor:
    mask = value.clone()  # some calls work in place
    for call in mask_calls:
        mask = call(mask)
    for call in calls:
        value = call(value)
    value = value.clone()
    value[mask] = new
    return value
