"""Records in, packets out: the socket to `stoker observe`. A part of the start-up hook."""

import json
import os
import sys
from _collections import deque
from _thread import allocate_lock
from time import monotonic_ns

from . import guard

MS = 1000000  # ns
SECOND = 1000 * MS
FLUSH_NS = 100 * MS  # the reader prints at most some times a second
SERVER_FLUSH_NS = 500 * MS  # a server's: a packet costs as much as counting a request
FLUSH_RECORDS = 64
PACKET_BYTES = 32 << 10
RECORD_BYTES = 8 << 10  # of one record; longer ones are lost
QUEUE_RECORDS = 4096  # if they could not be flushed; beyond that the oldest are lost

# The records of every step are formatted when they are sent, many at a time: in the loop that costs half as much.
STEP = '{"k":"step","loader":%d,"iter":%d,"n":%d,"t":%d,"w":%d,"p":%d%s,"grad":%s,"tid":%d,"b":%s,"o":%s}'
CLOCK = '{"k":"clock","loader":%d,"n":%d,"i":%d,"p":%d,"src":"%s","dev":%d}'
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class Channel(object):
    """Records in, packets out. It never blocks: a packet that the socket does not take is lost, and counted.

    A record is JSON text, or a format and its values.
    """

    def __init__(self, hello):
        self.hello = hello  # what a process says first
        self.socket = None
        self.node = None  # device and inode of our socket
        self.dead = False
        self.first = deque()  # hello, loaders, warnings: kept until they are sent
        self.records = deque()
        self.lock = allocate_lock()  # guards sending; no thread blocks on it
        self.flushed = 0
        self.seq = 0
        self.dropped = 0
        self.greeted = False

    def put(self, record):
        self.records.append(record)
        if len(self.records) > QUEUE_RECORDS:
            self.records.popleft()
            self.dropped += 1

    def put_first(self, record):
        if len(self.first) < FLUSH_RECORDS:
            self.first.append(encode_record(record))
        else:
            self.dropped += 1

    def say(self, state, text):
        """The last words: a warning, at once, and then nothing more."""
        try:
            if self.seq == 0:  # hello itself may be what failed; no other record comes before it
                self.first.clear()
                self.records.clear()
            self.put_first({"k": "warn", "text": text})
            self.flush(state, monotonic_ns())
        finally:
            self.close()

    def flush(self, state, t):
        self.flushed = t
        if self.dead or not (self.first or self.records) or not self.lock.acquire(False):
            return
        try:
            if not self.greeted:
                self.greeted = True
                self.first.appendleft(encode_record(self.hello(state)))
            if self.socket is None and not self.connect():
                self.die()
                return
            while self.first or self.records:
                if not self.send(self.packet()):
                    return
        finally:
            self.lock.release()

    def packet(self):
        """Take as many records as one packet holds. Returns (text, how many of `first`, how many others)."""
        texts, size, kept = [], 200, 0
        for text in list(self.first):  # a copy: another thread may add to it
            if size + len(text) > PACKET_BYTES:
                break
            texts.append(text)
            size += len(text) + 1
            kept += 1
        while kept == len(self.first) and self.records:
            record = self.records.popleft()
            text = record if type(record) is str else record[0] % record[1]
            size += len(text) + 1
            if size > PACKET_BYTES:
                self.records.appendleft(text)
                break
            texts.append(text)
        text = '{"v":1,"pid":%d,"seq":%d,"dropped":%d,"records":[%s]}' % (os.getpid(), self.seq, self.dropped, ",".join(texts))
        return text, kept, len(texts) - kept

    def send(self, packet):
        """Send one packet; False if no more will go now."""
        text, kept, others = packet
        if not self.ours():
            self.die()
            return False
        try:
            self.socket.send(text.encode("ascii"), self.flags)
        except OSError as error:
            self.dropped += others + len(self.records)
            self.records.clear()
            if error.errno not in self.full:
                self.die()
            return False
        for _ in range(kept):
            self.first.popleft()
        self.seq += 1
        self.dropped = 0
        return True

    def connect(self):
        import errno

        import _socket

        self.flags = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL  # the program may have reset SIGPIPE
        self.full = (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.EINTR)
        connection = None
        try:
            # The C type: `socket.socket` may be somebody's own (gevent), or have a default timeout.
            connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK)
            connection.setblocking(False)
            if connection.fileno() < 3:
                connection = _above_stdio(_socket, connection)
            _connect(connection, os.environ["STOKER_HOOK_SOCKET"])
            if _listener(_socket, connection) != os.geteuid():
                raise ValueError("another user listens there")
        except (OSError, KeyError, ValueError):
            if connection is not None:
                connection.close()
            return False
        self.socket = connection
        self.node = _node(connection.fileno())
        return True

    def ours(self):
        """A daemon closes all descriptors, and ours may be a file or a socket of the program by now."""
        return self.socket is not None and _node(self.socket.fileno()) == self.node

    def die(self):
        """Stoker has ended: from now on the program runs as without the hook."""
        self.close()
        guard.step_aside()

    def close(self):
        self.dead = True
        self.records.clear()
        if self.socket is not None:
            if self.ours():
                self.socket.close()
            else:
                self.socket.detach()
            self.socket = None


def _above_stdio(_socket, connection):
    """The program closed stdin, stdout or stderr: the next file that it opens belongs there, not the channel."""
    import fcntl

    number = fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
    connection.close()
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, number)
    connection.setblocking(False)
    return connection


def _connect(connection, path):
    """A path that is too long for a socket leads through a descriptor of its folder."""
    if len(os.fsencode(path)) <= 107:
        connection.connect(path)
        return
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
    finally:
        os.close(folder)


def _listener(_socket, connection):
    """The user who listens: the path may have outlived observe, and be another's."""
    return int.from_bytes(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8], sys.byteorder)


def _node(number):
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def encode_record(record):
    text = encode(record)
    return text if len(text) <= RECORD_BYTES else encode({"k": "warn", "text": "a %s record was too long" % record["k"]})
