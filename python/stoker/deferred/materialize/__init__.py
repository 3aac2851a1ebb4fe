"""Computes recorded pictures: by the daemon where its bytes equal the library's, else by Pillow and torch.

    dispatch.py   decides what computes each picture, and hands out the results
    line.py       a process's connection to the daemon
    trials.py     small pictures that exercise every operation
    trust.py      the operations whose bytes equal the installed libraries'
"""
