"""The hand-over: how a batch gets from a DataLoader's worker to the trainer.

PyTorch makes a file in /dev/shm for each tensor, clears and maps its pages on both sides, and sends
a descriptor for each; NumPy arrays go through a pipe. Here the tensors and arrays of a batch share
one region of shared memory, a room (daemon/room.py), which is reused. Its descriptor is sent over a
socket. Small tensors are sent in the message. The rest of the batch is pickled as PyTorch pickles
it.

    lease.py      a room's memory while it is in use
    lending.py    rooms with numbers, which are lent to batches
    memory.py     the rooms of a worker's batches, also for what a collate function makes shared
    stacking.py   copies samples to their place in the batch as they come
    sending.py    the worker's queue: pickles a batch, and puts its tensors into the room
    receiving.py  the trainer's side: maps the room, and makes tensors and arrays over it
    workers.py    starts an iterator's workers with such queues

The trainer's batch must equal that of PyTorch alone. So a tensor that the worker keeps (a cache, a
data set in memory) is sent by PyTorch, which moves it into shared memory: a write by either process
is then seen by the other. A room is reused when no process maps it, which a lock in the kernel
shows. Workers that are forked begin with the rooms of the iteration before.
"""
