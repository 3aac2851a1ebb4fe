"""What a daemon delivers, as one digest, or with --cost what that costs: python client.py FOLDER, with STOKER_BIN set.

Needs NumPy, not torch.
"""

import hashlib
import json
import os
import resource
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import stoker

NORMALIZE = [{"op": "to_tensor"}, {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}]
TRAIN = [{"op": "random_resized_crop", "size": [48, 48], "scale": [0.3, 1.0], "ratio": [0.75, 1.3333]}, {"op": "random_horizontal_flip", "p": 0.5}]
TEST = [{"op": "resize", "size": [40], "filter": "bicubic"}, {"op": "center_crop", "size": [33, 35]}]
BYTES = [{"op": "pil_to_tensor"}]

# Each kernel makes some of these.
FORMS = [
    (TRAIN + NORMALIZE, {"dtype": "float32"}),
    (TRAIN + NORMALIZE, {"dtype": "float16", "channels_last": True}),
    (TRAIN + NORMALIZE, {"dtype": "bfloat16"}),
    (TEST + BYTES, {}),
    (TEST + BYTES, {"channels_last": True}),
]


COSTS = [{"op": "random_resized_crop", "size": [224, 224], "scale": [0.08, 1.0], "ratio": [0.75, 1.3333]}, *TRAIN[1:], *NORMALIZE]


def digest(folder):
    total = hashlib.sha256()
    for ops, settings in FORMS:
        with stoker.Loader(folder, ops, batch_size=16, shuffle=True, seed=5, **settings) as loader:
            for batch in loader:
                total.update(batch.images.tobytes())
                total.update(batch.labels.tobytes())
    return total.hexdigest()[:16]


def cost(folder):
    """CPU seconds of the daemon per image, by dtype, as ImageNet is trained on."""
    seconds = {}
    for dtype in ("float32", "float16"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with stoker.Loader(folder, COSTS, batch_size=64, shuffle=True, dtype=dtype) as loader:
            images = sum(len(batch.images) for _ in range(2) for batch in loader)
        del loader
        for thread in set(threading.enumerate()) - {threading.main_thread()}:
            thread.join()  # it waits for the daemon's end, from which on its CPU time is known
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds[dtype] = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / images
    return seconds


if "--cost" in sys.argv:
    print(json.dumps(cost(sys.argv[1])))
else:
    print(digest(sys.argv[1]))
