"""A DataLoader's workers as actors of a Ray cluster: torch's own worker loop runs there, on cores of other nodes.

    iterators.py lets an iterator have its workers there
    workers.py   the queues, the event and the processes that an iterator gets from multiprocessing
    beside.py    the trainer's end of the driver, and what follows its death
    driver.py    Ray's driver, a process beside the trainer, which itself never imports Ray: Ray ends its drivers
    cluster.py   connects to Ray, and starts actors where cores are free; in the driver
    here.py      a process in the place of an actor that the cluster cannot replace
    calls.py     calls of a child process over a socket
    actor.py     runs in Ray: the worker loop, with queues that Ray fills and empties
    modules.py   what the program has set in its modules
    depth.py     how many batches are asked for ahead
    packing.py   a batch as one array of bytes, which Ray keeps in its object store, and Ray's pickler without Ray; which
                 files a data set names, for nodes that do not have them

A worker's batches depend on its data set, its number, its seed and the indices it is asked for, and on nothing of the
node. So they are the script's own. What Ray can do is left to Ray: scheduling, transport, deaths of nodes.
"""
