"""Connects to a Ray cluster and starts actors where cores are free."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

from .._warning import say_once
from . import here

_PATIENCE = 180.0  # seconds [J] for actors to start: Ray starts a Python for each, which imports torch
_SILENT = 20.0  # of these [J] in which no line says so
_SPARE_CALLS = 2  # calls of an actor that run while others wait for batches
LOCAL = "local"
_AGAIN = 30.0  # seconds [J] in which a head that did not answer is not asked again
_missed = float("-inf")  # when it did not
_STARTS = 10  # times [J] that a worker's replacement is started, if its node dies meanwhile
HERE = "this machine"
_ANSWER = 10.0  # seconds [J] in which a cluster takes a connection
_NAMED = 4  # nodes in a line
_PATIENT = "RAY_gcs_rpc_server_reconnect_timeout_s"  # Ray ends this program so many seconds after the head, 60 by default
_LONGER = "RAY_health_check_failure_threshold=20"  # which survives a cut of 30 s; Ray's own 5 does not
_FOR_EVER = "1000000"  # seconds, which are milliseconds of 32 bits
_DIGITS = 6  # of Ray's number of a node, which has 56


class Lack(Exception):
    """Workers cannot run in the cluster; the message says why and what to do."""


class Died(Lack):
    """An actor died before it was there, as when its node goes."""


@dataclasses.dataclass(frozen=True)
class Actor:
    """One that has started."""

    handle: Any
    node: str  # its name
    store: int | None  # bytes of Ray's object store there


def start_actors(count: int, address: str, ahead: int) -> list[Actor]:
    """Return so many actors that take so many questions ahead. Raises Lack."""
    ray = _connect(address)
    calls = ahead + _SPARE_CALLS
    kind = ray.remote(_actor_class()).options(max_concurrency=calls, **_placement(ray, address), runtime_env={"env_vars": _environment()})
    actors = [kind.remote() for _ in range(count)]
    asked = [each.call.remote("name_node") for each in actors]
    _, waiting = ray.wait(asked, num_returns=count, timeout=_SILENT)
    if waiting:
        say_once(f"{len(waiting)} of {count} workers wait for a node with room, up to {_PATIENCE:.0f} s; `ray status` lists what is free")
        _, waiting = ray.wait(asked, num_returns=count, timeout=_PATIENCE - _SILENT)
    lack = Lack(f"{len(waiting)} of {count} workers found no node with room in {_PATIENCE:.0f} s")
    if not waiting:
        try:
            places = ray.get(asked)
            stores = _find_stores(ray)
            return [Actor(*each, stores.get(number)) for *each, (_, number) in zip(actors, _tell_apart(places), places)]
        except ray.exceptions.RayError as error:
            lack = Died(f"a worker did not start: {str(error).strip().splitlines()[-1]}")
    for each in actors:
        ray.kill(each)
    raise lack


def say_what_is_missing(actors: list[Actor], paths: list[str]) -> None:
    """Say which of the trainer's paths a node does not have, before a fetch fails there."""
    import ray

    if not paths:
        return
    asked = {each.node: each.handle.call.remote("list_missing", paths) for each in actors}
    for node, answer in asked.items():
        with contextlib.suppress(ray.exceptions.RayError):  # its death is found later, and a slow disk is no fault
            if missing := ray.get(answer, timeout=_ANSWER):
                more = f" and {len(missing) - 1} more" if missing[1:] else ""
                say_once(f"node {node} has no {missing[0]}{more}, which the data set names: fetches that read it will fail")


def start_another(address: str, ahead: int) -> Actor:
    """Return a new actor for one that died; a process of this machine if the cluster gives none."""
    try:
        for _ in range(_STARTS - 1):
            with contextlib.suppress(Died):
                _find_head()
                return start_actors(1, address, ahead)[0]
        _find_head()
        return start_actors(1, address, ahead)[0]
    except Exception as lack:  # Ray has many ways to say that its head is gone
        say_once(f"the cluster gives no worker in place of one that died ({str(lack).strip().splitlines()[0]}): it runs on this machine")
        return Actor(here.Handle(ahead + _SPARE_CALLS, _environment()), HERE, None)


def _find_head() -> None:
    """Raise OSError if the cluster's head does not take a connection, or did not lately, or gave up this node.

    Ray would wait for minutes.
    """
    global _missed
    import ray

    if time.monotonic() < _missed + _AGAIN:
        raise OSError("its head does not answer")
    try:
        _reach(ray.get_runtime_context().gcs_address)
    except OSError:
        _missed = time.monotonic()
        raise
    own = ray.get_runtime_context().get_node_id()
    if not any(node["Alive"] and node["NodeID"] == own for node in ray.nodes()):
        raise OSError(f"it gave this node up, and Ray ends its programs: with {_LONGER} its head waits longer")


def kill(handle: Any) -> None:
    """End an actor. It may be gone, or the whole cluster."""
    import ray

    with contextlib.suppress(Exception):
        if isinstance(handle, here.Handle):
            handle.kill()
        elif ray.is_initialized():
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


def _connect(address: str) -> Any:
    import ray

    if not ray.is_initialized():
        try:
            _reach(address)
            # Ray takes "local" as well: without an address it would join a cluster that runs on this machine already.
            more = {"include_dashboard": False} if address == LOCAL else {}
            with _outliving_the_head() if address != LOCAL else contextlib.nullcontext():
                ray.init(address, logging_level="ERROR", log_to_driver=False, **more)
            _leave_stdout()
            _leave_errors()
        except OSError as error:
            raise Lack(f"Ray at {address} does not answer: {error} (`ray start --head` starts one)") from None
        except Exception as error:  # other versions of Ray or Python are there, or another token
            raise Lack(f"Ray at {address} does not take this program: {' '.join(str(error).split())}") from None
    return ray


@contextlib.contextmanager
def _outliving_the_head() -> Iterator[None]:
    """Keep Ray from ending this program when it has missed its head for a minute.

    The program's own children keep Ray's patience.
    """
    if _PATIENT in os.environ:
        yield
        return
    os.environ[_PATIENT] = _FOR_EVER
    try:
        yield
    finally:
        del os.environ[_PATIENT]


def _leave_stdout() -> None:
    """Have Ray report deaths on stderr, because stdout belongs to the program."""
    module = sys.modules.get("ray._private.worker")
    write = getattr(module, "print_to_stdstream", None)
    if write is not None:
        module.print_to_stdstream = lambda data, **more: write({**data, "is_err": True}, **more)  # type: ignore[union-attr]


def _leave_errors() -> None:
    """Have Python print an error that ends the program: Ray first tells its head, and would wait for a dead one."""
    module = sys.modules.get("ray._private.worker")
    if sys.excepthook is getattr(module, "custom_excepthook", None):
        sys.excepthook = getattr(module, "normal_excepthook", sys.__excepthook__)


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
    others = any(node["Alive"] and node["NodeID"] != own for node in ray.nodes())
    if others and os.environ.get("STOKER_FEED_RAY_HERE") != "1":
        labels["ray.io/node-id"] = NotIn(own)
    return {**options, "scheduling_strategy": NodeLabelSchedulingStrategy(hard=labels)} if labels else options


def _read_pairs(variable: str) -> dict[str, str]:
    """Return what `stoker feed --ray-resources` and --ray-labels hand over: NAME=VALUE,…"""
    pairs = (pair.partition("=") for pair in os.environ.get(variable, "").split(",") if pair)
    return {name: value for name, _, value in pairs}


def _environment() -> dict[str, str]:
    """Return variables by which a worker finds the program's modules and this package at the trainer's paths."""
    client = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [os.path.abspath(path) for path in sys.path if not path.endswith(".zip")]
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys([client, *paths]))}


def say_where(nodes: list[str]) -> str:
    """Return a line about where workers run."""
    names = sorted(set(nodes))
    more = f" and {len(names) - _NAMED} nodes more" if len(names) > _NAMED else ""
    return f"{len(nodes)} workers run in the Ray cluster, on {', '.join(names[:_NAMED])}{more}"
