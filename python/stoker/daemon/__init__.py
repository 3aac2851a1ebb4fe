"""The client's end of feed/serve/PROTOCOL.md: finds or starts the daemon, and shares memory with it.

    session.py   the daemon's process, connections, sessions
    deaths.py    how long a silent daemon is waited for, and how often one is started again
    private.py   folders and sockets of this user alone
    sockets.py   sockets that close themselves
    ring.py      the slots of a session's batches
    room.py      memory that is used again
    files.py     the same for files that a fetch reads
"""
