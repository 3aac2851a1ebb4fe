"""Loaders whose batches the daemon makes whole: stoker.Loader for NumPy, and stoker.DataLoader in place of torch's.

    batches.py      stoker.Loader
    dataloader.py   stoker.DataLoader: the daemon's batches where they are the script's own
    translate.py    torchvision's transforms as the daemon's operations
    dataset.py      files and labels of a data set
    pack.py         stoker.Pack, a data set written by `stoker pack`
    order.py        which sample comes when, and its random numbers
    position.py     where a trainer is in its epochs
    sampler.py      torch's samplers in the daemon's order
    fallback.py     the same batches by Pillow, while no daemon answers
    plainly.py      position of a loader that is not translated
    accelerate.py   what Accelerate's prepare() needs
    cuda.py         the calls of torch.cuda
"""
