"""What is recorded of a picture until somebody needs its pixels, and the calls of Pillow that record.

    pictures.py   images of Pillow of which only the header was read, and their operations
    canvas.py     images that are pasted on others
    plan.py       the operations from pictures to a tensor
    job.py        what the daemon is asked to compute, and where its pixels go
    stages.py     pictures that need more than one job
    headers.py    headers of JPEGs, read once for files that are alike
    jpeg.py       whether Pillow decodes a JPEG without a warning
    standins.py   replaces functions of libraries during a fetch
    known.py      functions of libraries whose source text is known
    bits.py       whether two tensors are equal bit by bit
    share.py      the daemon's share of the work, for the line at the end
"""
