"""Computes recorded pictures: by the daemon, or by Pillow and torch where the daemon has not been seen to do the same.

    making.py   decides who computes what, and hands out the results
    line.py     a process's connection to the daemon for it
    trials.py   small pictures with every operation
    trust.py    what the daemon computed of them as the installed libraries do
"""
