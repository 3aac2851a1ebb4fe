"""What the workers of each node cost, for `stoker observe`: its hook reads `nodes` once a second.

Sums over all DataLoaders of this process, since it began. Clocks of nodes are not compared: how long a batch was on its
way is the time from the question to the reply here, less the time that the question was at the worker's.
"""

from __future__ import annotations

import dataclasses

MOST = 64  # nodes [J] that are counted apart; the others go under OTHERS
OTHERS = "other nodes"


@dataclasses.dataclass
class Node:
    """The workers of one node, and sums over their batches."""

    workers: int = 0
    ahead: int = 0  # batches that each worker may have begun
    batches: int = 0
    fetch: float = 0.0  # seconds in which workers prepared them
    cpu: float = 0.0  # of these, of the preparing thread on a core
    moved: float = 0.0  # seconds from the worker's hands into the trainer's
    bytes: int = 0
    store: int | None = None  # bytes of Ray's object store there
    spilled: int | None = None  # bytes that the store did not hold and wrote to a disk


nodes: dict[str, Node] = {}


def find_node(name: str) -> Node:
    """Return the figures of a node."""
    if name not in nodes and len(nodes) >= MOST:
        name = OTHERS
    return nodes.setdefault(name, Node())
