"""What `stoker observe --log figures` found so far, for the program to log.

This module imports nothing. The hook (python/hook/log.py) stores the newest figures here at the end
of a step. Without an observer there are none, and the program runs unchanged.
"""

newest: dict[str, float] = {}


def figures() -> dict[str, float]:
    """The newest figures of this process's run, `{"stoker/stall_ratio": 0.31, ...}`.

    The dictionary is empty unless `stoker observe --log figures` runs. A trainer that logs a
    dictionary needs one line::

        accelerator.log({"loss": loss, **stoker.figures()}, step=step)
        ray.train.report({"loss": loss, **stoker.figures()})
    """
    return dict(newest)
