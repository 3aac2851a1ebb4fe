"""What the scripts here share: how long they run, and whether as the reporter mended them."""

import os
import sys
import time

FIX = "--fix" in sys.argv
SECONDS = float(os.environ.get("SECONDS_EACH", "30"))
STARTED = time.monotonic()


def over():
    """Whether the script has run for as long as it should."""
    return time.monotonic() - STARTED > SECONDS


def done(device, samples):
    """Say how many samples were trained on, and how fast: the truth that a fix is held against."""
    device.synchronize(spin=False)
    seconds = time.monotonic() - STARTED
    print(f"{samples} samples in {seconds:.1f} s: {samples / seconds:.1f} a second", flush=True)
