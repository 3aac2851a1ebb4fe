"""Tensors of recorded pictures, and the calls of torch that record.

    tensors.py   a tensor that stands for a picture, and its operations
    masks.py     numbers written where a mask of the same picture says so
    blurs.py     Gaussian blurs, for which torch needs some pixels now
"""
