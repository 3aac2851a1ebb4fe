"""Sockets that close without a ResourceWarning, as a program may make errors of warnings."""

from __future__ import annotations

import socket


class Socket(socket.socket):
    """Closes itself once nothing refers to it."""

    def __del__(self) -> None:
        self.close()


def pair() -> tuple[Socket, Socket]:
    """Return two connected sockets that carry packets."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Socket(fileno=ours.detach()), Socket(fileno=theirs.detach())
