"""The place of this process in its job: its rank, and the ranks of this node."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple


class Place(NamedTuple):
    """A rank of a world; local ranks share a node and therefore a daemon."""

    rank: int
    world: int
    local_rank: int
    local_world: int

    def job(self) -> str | None:
        """Return a name that the ranks of this job on this node share; None if there is only one."""
        if self.local_world == 1 or self.world == 1:
            return None
        names = (
            "MASTER_ADDR",
            "MASTER_PORT",
            "TORCHELASTIC_RUN_ID",
            "TORCHELASTIC_RESTART_COUNT",
            "SLURM_JOB_ID",
            "SLURM_STEP_ID",
        )
        said = [os.environ.get(name, "") for name in names]
        # A launcher that sets none of these starts all ranks of a node itself.
        return hashlib.sha256("\n".join(said if any(said) else [str(os.getppid())]).encode()).hexdigest()[:16]


def here(rank: int | None = None, world: int | None = None) -> Place:
    """Return the place of this process: as given, else by RANK, WORLD_SIZE and so on, as torchrun
    sets them."""
    if (rank is None) != (world is None):
        raise ValueError("rank= and world= go together")
    if rank is None or world is None:
        rank, world = _number("RANK", 0), _number("WORLD_SIZE", 1)
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} of a world of {world}: expected 0 to {world - 1}")
    return Place(rank, world, _number("LOCAL_RANK", 0), _number("LOCAL_WORLD_SIZE", 1) if world > 1 else 1)


def _number(name: str, otherwise: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else otherwise
