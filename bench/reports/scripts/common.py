"""What the scripts here share: how long they run, and whether as the reporter mended them."""

import os
import sys
import time

FIX = "--fix" in sys.argv
SECONDS = float(os.environ.get("SECONDS_EACH", "30"))
started = []  # when training began: imports are no part of it


def over():
    """Whether the script has trained for as long as it should."""
    if not started:
        started.append(time.monotonic())
    return time.monotonic() - started[0] > SECONDS


def done(device, samples):
    """Say how many samples were trained on, and how fast: the truth that a fix is held against."""
    device.synchronize(spin=False)
    seconds = time.monotonic() - started[0]
    print(f"{samples} samples in {seconds:.1f} s: {samples / seconds:.1f} a second", flush=True)
