"""Stands where PyTorch's own lies: what it calls is a fetch."""


def fetch(read):
    return read()
