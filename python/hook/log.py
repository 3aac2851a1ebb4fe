"""A part of the hook: logs what Stoker found into the W&B or MLflow run that the program has open.

Purpose. `observe --log wandb` puts a file log-PID.ask into the folder of its socket every 15 s: {"to": [names],
"step": n, "values": {name: number}}. At the next boundary they are logged as `stoker/NAME` into the run that is open, in the thread
that crosses it. "figures" keeps them for stoker.figures(). W&B adds them to the row that the program's own next `log` commits; MLflow's own thread sends them.
Limits. It imports nothing, opens no run, and counts no step of the program's: without an open run nothing happens.
A failure is reported once, and not tried again.
Neighbours. process.py loads it; observe/log_linux.go writes the file.
"""

import sys

from . import guard

PATIENCE = 2  # times without an open run, until that is reported

_missed = {}  # times, by name
_given_up = set()


def _wandb(values, step):
    run = getattr(sys.modules.get("wandb"), "run", None)
    if run is None:
        return False
    run.log(values, commit=False)
    return True


def _mlflow(values, step):
    module = sys.modules.get("mlflow")
    if module is None or module.active_run() is None:
        return False
    module.log_metrics(values, step=step, synchronous=False)
    return True


def _figures(values, step):
    module = sys.modules.get("stoker._figures")  # stoker.figures() and the callbacks read it
    if module is None:
        return False
    module.newest = values
    return True


_LOGGERS = {"wandb": _wandb, "mlflow": _mlflow, "figures": _figures}


def log(state, request):
    """Log what was asked for."""
    values = {"stoker/" + name: value for name, value in request["values"].items()}
    for name in request["to"]:
        if name in _given_up:
            continue
        try:
            why = None if _LOGGERS[name](values, request["step"]) else _not_open(name)
        except Exception as error:
            if guard.raised_by_signal_handler(error):
                raise
            why = "%s did not take Stoker's figures, and is not asked again: %s: %s" % (name, type(error).__name__, str(error)[:200])
            _given_up.add(name)
        if why:
            state.channel.put_first({"k": "warn", "text": why})


def _not_open(name):
    _missed[name] = _missed.get(name, 0) + 1
    return "--log %s: the program has no run open there" % name if _missed[name] == PATIENCE else None
