"""Recorded pictures, whose pixels are computed later, and the calls of Pillow that are recorded.

    pictures.py       deferred images of Pillow, and their operations
    canvas.py         pictures pasted on others
    plan.py           the operations that make a tensor of a picture
    job.py            what the daemon is asked to compute, and where the pixels go
    stages.py         pictures that need more than one job
    headers.py        headers of JPEGs that equal an earlier one
    jpeg.py           whether Pillow decodes a JPEG without a warning
    replacements.py   replaces functions of libraries during a fetch
    digests.py        digests of library functions, checked before replacing them
    bits.py           whether two tensors are equal bit by bit
    share.py          the daemon's share of the work, said at exit
"""
