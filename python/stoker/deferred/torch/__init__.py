"""Deferred tensors of recorded pictures, and the calls of torch that are recorded.

    tensors.py   a tensor without storage, and its operations
    masks.py     writing a number where a mask of the same picture is true
    blurs.py     torchvision's Gaussian blurs, which torch computes
"""
