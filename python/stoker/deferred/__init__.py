"""Deferring: a worker's calls of Pillow and torchvision are recorded, and the daemon computes the pixels of a whole batch.

    deferring.py   begins and ends it: around each fetch of a DataLoader, in its worker or in the trainer
    judged.py      which data sets it helps, by what their first fetches cost
    reach.py       which code a fetch may run, and whether that code would notice
    nodes.py       the same for torchdata.nodes
    stream.py      the end of a fetch: what the collate function gets
    further.py     libraries that the program imports later
    decode.py      stoker.Decode, for pipelines of others
    recipes/       what is recorded of a picture; Pillow's calls
    torch/         tensors of recorded pictures, and torch's calls
    torchvision/   torchvision's calls
    materialize/   computes what was recorded, by the daemon or by the library; tries which of both are equal

recipes imports none of the others, materialize only recipes, and torch and torchvision both.
"""
