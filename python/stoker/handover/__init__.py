"""The hand-over: how what a DataLoader's worker returns reaches the trainer.

PyTorch makes a file in /dev/shm for each tensor, clears and faults in its pages on both sides, and sends a descriptor
for each; arrays of NumPy go through a pipe. Here a batch's tensors and arrays share one
reused region of shared memory, a room (`.._room`), whose descriptor is sent over a socket. Small ones travel inside the
message. The rest of the batch is pickled as PyTorch pickles it.

    lease.py    a room's memory while somebody uses it
    memory.py   a batch's room in the worker, also for what a collate function makes shared
    sending.py  the worker's queue: pickles a batch, and puts its tensors into the room
    receiving.py  the trainer's side: maps the room, and makes tensors and arrays over it
    workers.py  starts an iterator's workers with such queues

What a batch must look like is what PyTorch alone would give. So a tensor that the worker keeps (a cache, a data set in
memory) goes PyTorch's way, which moves it into shared memory: what either process writes there the other sees. A room
is reused once no process maps it, which a lock in the kernel shows.
"""
