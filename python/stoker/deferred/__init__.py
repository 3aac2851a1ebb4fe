"""Deferring: calls of Pillow and torchvision are recorded, and the daemon computes a batch's pixels.

    deferring.py   begins and ends it: around each fetch of a DataLoader, in a worker or in the trainer
    payoff.py      whether it is worthwhile for a data set, judged by the cost of its first fetches
    reach.py       which code a fetch may run, and whether that code would notice
    nodes.py       the same for torchdata.nodes
    stream.py      the end of a fetch, when the collate function is called
    further.py     libraries that the program imports later
    decode.py      stoker.Decode, for other pipelines
    recipes/       recorded pictures; Pillow's calls
    torch/         deferred tensors; torch's calls
    torchvision/   torchvision's calls
    materialize/   computes what was recorded; tries where daemon and library give equal bytes

recipes imports none of the others; materialize only recipes; torch and torchvision import both.
"""
