"""Loaders whose whole batches come from the daemon: stoker.Loader, and stoker.DataLoader for torch.

    batches.py         stoker.Loader
    dataloader.py      stoker.DataLoader: the daemon's batches if they equal the script's own
    translate.py       translates torchvision's transforms to the daemon's operations
    dataset.py         files and labels of a data set
    pack.py            stoker.Pack, a data set written by `stoker pack`
    order.py           the order of samples, and their random numbers
    position.py        the trainer's position in its epochs
    sampler.py         torch's samplers in the daemon's order
    fallback.py        the same batches by Pillow, while no daemon runs
    torch_position.py  the position of a loader that is not translated
    accelerate.py      what Accelerate's prepare() needs
    cuda.py            the calls of torch.cuda
"""
