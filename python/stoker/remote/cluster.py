"""Connects to a Ray cluster and starts actors where cores are free: in the driver, which imports Ray."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

_PATIENCE = 180.0  # seconds [J] for actors to start: Ray starts a Python for each, which imports torch
_SILENT = 20.0  # of these [J] in which no line says so
SPARE_CALLS = 2  # calls of an actor that run while others wait for batches
LOCAL = "local"
_ANSWER = 10.0  # seconds [J] in which a cluster takes a connection
_NO_SPARES = {"prestart_worker_first_driver": False, "enable_worker_prestart": False}  # an actor with variables takes no Python of these
_DIGITS = 6  # of Ray's number of a node, which has 56
_connecting = threading.Lock()  # loaders may begin in several threads at once


class Lack(Exception):
    """Workers cannot run in the cluster; the message says why and what to do."""


class Away(Lack):
    """The cluster does not answer now. The driver stays, and with it actors that work."""


class Refused(Away):
    """The head's machine answers, and no head runs there."""


class Lost(Away):
    """This driver is of no more use."""


class Died(Lack):
    """An actor died before it was there, as when its node goes."""


def connect(address: str) -> None:
    """Connect this process, unless it is. Raises Lack."""
    with _connecting:
        _connect(address)


def _connect(address: str) -> None:
    try:
        _reach(address)  # before seconds of imports
        import ray

        if ray.is_initialized():
            _find_head()
            return
        # Ray takes "local" as well: without an address it would join a cluster that runs on this machine already.
        more = {"include_dashboard": False, "_system_config": _NO_SPARES} if address == LOCAL else {}
        ray.init(address, logging_level="ERROR", log_to_driver=False, **more)
    except OSError as error:
        kind = Refused if isinstance(error, ConnectionRefusedError) else Away
        raise kind(f"Ray at {address} does not answer: {error} (`ray start --head` starts one)") from None
    except Exception as error:  # other versions of Ray or Python are there, or another token
        raise Lost(f"Ray at {address} does not take this program: {' '.join(str(error).split())}") from None


def leave() -> None:
    """End the connection, and a cluster that was started for it."""
    import ray

    ray.shutdown()


def start_actors(
    count: int, address: str, ahead: int, environment: Mapping[str, str], say: Callable[[str], None]
) -> list[tuple[Any, str, int | None]]:
    """Return so many actors that take so many questions ahead: each with its node's name, and the bytes of Ray's object store there.

    Raises Lack.
    """
    import ray

    options = dict(_placement(ray, address), max_concurrency=ahead + SPARE_CALLS, runtime_env={"env_vars": dict(environment)})
    kind = ray.remote(_actor_class()).options(**options)
    actors = [kind.remote() for _ in range(count)]
    asked = [each.call.remote("name_node") for each in actors]
    _, waiting = ray.wait(asked, num_returns=count, timeout=_SILENT)
    if waiting:
        say(f"{len(waiting)} of {count} workers wait for a node with room, up to {_PATIENCE:.0f} s; `ray status` lists what is free")
        _, waiting = ray.wait(asked, num_returns=count, timeout=_PATIENCE - _SILENT)
    lack = Lack(f"{len(waiting)} of {count} workers found no node with room in {_PATIENCE:.0f} s")
    if not waiting:
        try:
            places = ray.get(asked)
            stores = _find_stores(ray)
            return [(*each, stores.get(number)) for *each, (_, number) in zip(actors, _tell_apart(places), places)]
        except ray.exceptions.RayError as error:
            lack = Died(f"a worker did not start: {str(error).strip().splitlines()[-1]}")
    for each in actors:
        ray.kill(each)
    raise lack


def find_missing(actors: list[Any], paths: list[str]) -> list[list[str]]:
    """Return which of the trainer's paths each actor's node does not have."""
    import ray

    found: list[list[str]] = [[] for _ in actors]
    asked = [each.call.remote("list_missing", paths) for each in actors]
    for missing, answer in zip(found, asked):
        with contextlib.suppress(ray.exceptions.RayError):  # its death is found later, and a slow disk is no fault
            missing += ray.get(answer, timeout=_ANSWER)
    return found


def _find_head() -> None:
    """Raise if the cluster's head takes no connection, or gave up this node: Ray would wait for minutes."""
    import ray

    _reach(ray.get_runtime_context().gcs_address)
    own = ray.get_runtime_context().get_node_id()
    if not any(node["Alive"] and node["NodeID"] == own for node in ray.nodes()):
        raise RuntimeError("its head gave this node up")


def kill(handle: Any) -> None:
    """End an actor. It may be gone, or the whole cluster."""
    import ray

    with contextlib.suppress(Exception):
        _find_head()
        ray.kill(handle)


def find_own_store() -> int | None:
    """Return the bytes of Ray's object store on the trainer's node."""
    import ray

    return _find_stores(ray).get(ray.get_runtime_context().get_node_id())


def _find_stores(ray: Any) -> dict[str, int | None]:
    return {node["NodeID"]: int(node["Resources"].get("object_store_memory", 0)) or None for node in ray.nodes()}


def _tell_apart(nodes: list[tuple[str, str]]) -> list[str]:
    """Return the names of nodes; of nodes that share one, with the beginning of Ray's number."""
    numbers: dict[str, set[str]] = {}
    for name, number in nodes:
        numbers.setdefault(name, set()).add(number)
    return [name if len(numbers[name]) == 1 else f"{name} ({number[:_DIGITS]})" for name, number in nodes]


def _actor_class() -> type:
    """Return a class that Ray sends by value: in the trainer this package may have another name than in an actor."""

    class Worker:
        def __init__(self) -> None:
            import importlib

            self._worker = importlib.import_module("stoker.remote.actor").Worker()

        def call(self, name: str, *arguments: Any) -> Any:
            return getattr(self._worker, name)(*arguments)

    return Worker


def _reach(address: str) -> None:
    """Raise OSError if no server listens at HOST:PORT: Ray would try for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_ANSWER).close()


def _placement(ray: Any, address: str) -> dict[str, Any]:
    """Return Ray's options for a worker: one core, on a node other than the trainer's if there is one."""
    if address == LOCAL:
        return {"num_cpus": 0}
    wanted = {name: float(amount) for name, amount in _read_pairs("STOKER_FEED_RAY_RESOURCES").items()}
    options: dict[str, Any] = {"num_cpus": wanted.pop("CPU", 1), "resources": wanted}
    from ray.util.scheduling_strategies import In, NodeLabelSchedulingStrategy, NotIn

    labels: dict[str, Any] = {name: In(value) for name, value in _read_pairs("STOKER_FEED_RAY_LABELS").items()}
    own = ray.get_runtime_context().get_node_id()
    others = any(node["Alive"] and node["NodeID"] != own and node["Resources"].get("CPU") for node in ray.nodes())
    if others and os.environ.get("STOKER_FEED_RAY_HERE") != "1":
        labels["ray.io/node-id"] = NotIn(own)
    return {**options, "scheduling_strategy": NodeLabelSchedulingStrategy(hard=labels)} if labels else options


def _read_pairs(variable: str) -> dict[str, str]:
    """Return what `stoker feed --ray-resources` and --ray-labels hand over: NAME=VALUE,…"""
    pairs = (pair.partition("=") for pair in os.environ.get(variable, "").split(",") if pair)
    return {name: value for name, _, value in pairs}
