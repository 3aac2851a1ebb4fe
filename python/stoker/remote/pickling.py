"""Ray's pickler, which knows classes of the program's script, without Ray: its file is loaded by its path.

It has the same name in all processes, because what it writes names it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

_NAME = "stoker_cloudpickle"


def _load() -> Any:
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    ray = importlib.util.find_spec("ray")
    if ray is None or ray.origin is None:
        raise ImportError("No module named 'ray'")
    spec = importlib.util.spec_from_file_location(_NAME, os.path.join(os.path.dirname(ray.origin), "cloudpickle", "cloudpickle.py"))
    if spec is None or spec.loader is None:
        raise ImportError("Ray has no cloudpickle")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "Pickler"):
        raise ImportError("Ray is older than 2.30")
    sys.modules[_NAME] = module
    return module


cloudpickle = _load()
