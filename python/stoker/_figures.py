"""What `stoker observe --log figures` found so far, for whatever the program logs to.

It imports nothing. The hook puts the newest figures here at a step's boundary (python/hook/log.py);
where nobody observes there are none, and nothing of the program changes.
"""

newest: dict[str, float] = {}


def figures() -> dict[str, float]:
    """The newest figures of this process's run, `{"stoker/stall_ratio": 0.31, ...}`. It is empty unless
    `stoker observe --log figures` runs.

    One line for a trainer that logs a dictionary::

        accelerator.log({"loss": loss, **stoker.figures()}, step=step)
        ray.train.report({"loss": loss, **stoker.figures()})
    """
    return dict(newest)
