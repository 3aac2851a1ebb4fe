"""An emulated accelerator: a device with a queue, in arithmetic on the clock.

There is no GPU on a developer's machine, but most of what starves a GPU lives
on the host. `Device` behaves towards the host as a CUDA device does: a launch
returns at once and work runs later, in order; run-ahead is bounded; copies
from pageable memory block; `synchronize` and `item` wait, spinning as CUDA
does by default. It computes nothing and is no model of a chip: results of
training must come from elsewhere. All output about it says "emulated".

    device = Device()                   # device 0 of the default chip
    device.copy(batch_bytes)            # pageable: blocks
    device.launch(0.435, "step")        # returns at once
    loss = device.item()                # waits for the queue to drain

Inside, times are whole nanoseconds of CLOCK_MONOTONIC (`time.monotonic_ns`);
at the API they are seconds of `time.monotonic()`.

Where the environment variable STOKER_EMULATED_PAGE names a file (`stoker
observe` sets it), busy intervals also go to that shared page, from which a
stand-in libnvidia-ml.so.1 reports utilisation, memory, power and clocks.
Without the variable, or when the page cannot be had, everything else works.

The page, version 1. Both sides of the language border begin with this
paragraph: python/stoker/emulated.py writes, observe/gpu/emulated/nvml.c reads.

  All integers are in the machine's own byte order; all times are
  nanoseconds of CLOCK_MONOTONIC. The file is 4,096 + 8 x 65,536 x 24 =
  12,587,008 bytes, all allocated when it is made.

  offset        size  field
  0             8     magic "STKEMUL1", written last when the page is made
  8             4     version_u32, 1
  12            4     device_count_u32, highest index ever used + 1, at most 8
  1024 + 256*i        record of device i:
    +0          64    chip name, UTF-8, ends with NUL
    +64         64    uuid, ASCII, ends with NUL
    +128        4     pid_u32 of the process that made the device; 0: never made
    +132        4     sm_clock_mhz_u32
    +136        4     idle_mw_u32
    +140        4     limit_mw_u32
    +144        8     memory_total_bytes_u64
    +152        8     memory_used_bytes_u64, 2^64-1: unknown
    +160        8     written_u64, intervals written so far
    +168        8     created_ns_u64
    +176        4     max_sm_clock_mhz_u32
    +180        4*4   link_generation_u32, link_width_u32, and the most of both; 0: not told
    +196        4     reasons_u32 of a low clock, in NVML's bits
    +200        4     sm_active_u32 while a kernel runs, in thousandths; 0: no counters
    +204        8     stranger_pid_u32, another process on the device, and its percentage_u32
    +212        4     mig_u32, 1: in instances
    +216        8     fault_u32 (1: every answer is an error, 2: no answer has a value, 3: answers
                      are late), late_ms_u32
  4096 + 1572864*i    ring of device i, 65,536 entries of 24 bytes;
                      interval number n lies in entry n mod 65,536:
    +0          8     start_ns_u64
    +8          8     end_ns_u64
    +16         4     kind_u32, 1 kernel, 2 copy, 3 copy from pageable memory, which the CPU stages
    +20         4     pad, 0

  The writer writes the entry first and written_u64 last. Intervals may lie
  in the future, because the device has a queue: the reader cuts at now.
  One process writes a device's record and ring; several processes (ranks)
  share the page, each with another device index.
"""

import os
import stat
import struct
import sys
import threading
import time
import weakref
import zlib
from collections import deque, namedtuple
from time import monotonic_ns

__all__ = ["CHIPS", "Chip", "Device", "Event", "current"]

#: Figures of a chip: bytes, bytes per second, watts, megahertz.
Chip = namedtuple(
    "Chip", "name memory_bytes pinned_bytes_per_s pageable_bytes_per_s idle_watts limit_watts sm_clock_mhz"
)

# Pageable copies are staged through a pinned buffer by one CPU thread, however fast the link is.
_PAGEABLE_A100 = 10e9  # an A100's in a published bandwidthTest output
_PAGEABLE_H100 = 7e9  # measured on one (bench/gpu/RESULTS.md)

# Sources, column by column:
# - memory: what nvidia-smi shows as total (81,920, 81,559 and 143,771 MiB): the H100's was seen, the others are from memory;
# - pinned host to device: Gen4 about 25 GB/s, Gen5 about 53 GB/s (GitHub issues ZaidQureshi/bam 54 and
#   NVIDIA/nvbandwidth 24);
# - limit: the board's power from NVIDIA's data sheets (400, 700, 700 W);
# - idle: what nvidia-smi shows of an idle board, order of magnitude, from memory;
# - clock: the greatest SM clock that nvidia-smi shows (1,410, 1,980, 1,980 MHz), from memory.
CHIPS = {
    "a100-80gb-sxm": Chip("NVIDIA A100-SXM4-80GB", 81920 << 20, 25e9, _PAGEABLE_A100, 55, 400, 1410),
    "h100-sxm": Chip("NVIDIA H100 80GB HBM3", 81559 << 20, 53e9, _PAGEABLE_H100, 70, 700, 1980),
    "h200": Chip("NVIDIA H200", 143771 << 20, 53e9, _PAGEABLE_H100, 75, 700, 1980),
}

KERNEL, COPY, SYNC = 1, 2, 3
_STAGED = 3  # on the page, which has no syncs
_KIND_WORDS = {KERNEL: "kernel", COPY: "copy", SYNC: "sync"}


class Device:
    """One emulated accelerator with a queue. Every method may be called from any thread.

    index        device number, 0 to 7 on the shared page
    chip         a key of CHIPS
    run_ahead    launches that may be outstanding before the next one blocks;
                 CUDA's queue holds about 1,000
    spin         whether waiting burns CPU, which is CUDA's default, or sleeps
    memory_used  bytes in use as reported by the page: arithmetic takes none; None is unknown
    """

    def __init__(self, index=0, chip="a100-80gb-sxm", run_ahead=1000, spin=True, memory_used=0):
        if chip not in CHIPS:
            raise ValueError(f"unknown chip {chip!r}: choose one of {', '.join(sorted(CHIPS))}")
        if index < 0 or run_ahead < 1:
            raise ValueError(f"index must be 0 or more and run_ahead 1 or more, not {index} and {run_ahead}")
        self.index = index
        self.chip = chip
        self.facts = CHIPS[chip]
        self.run_ahead = run_ahead
        self.spin = spin
        #: Native id of the thread of the last launch or copy: who feeds this device.
        self.launch_thread = None
        self._created_ns = monotonic_ns()
        self._realtime_minus_monotonic_ns = _clock_offset_ns()
        self._memory_used = memory_used
        self._lock = _process.lock(index)  # guards the three below, and the ring
        self._done_ns = 0  # when all work queued so far is done
        self._pending = deque()  # ends of outstanding commands, at most run_ahead of them
        self._log = _Log()
        self._ring = _process.ring(self)
        _process.devices.append(weakref.ref(self))

    @staticmethod
    def current():
        """Return the devices created in this process and still alive. Creates none."""
        return current()

    # The queue.

    def launch(self, seconds, name="kernel"):
        """Queue work of this length and return at once, or when the queue has room again."""
        if seconds < 0:
            raise ValueError(f"a kernel cannot last {seconds} s")
        self._submit(KERNEL, round(seconds * 1e9), name, 0)

    def copy(self, nbytes, pinned=False, non_blocking=None):
        """Queue a host to device copy of nbytes at the rate of the link.

        From pageable memory it blocks until prior work and the copy are done,
        even with non_blocking=True, because the CPU stages it. From pinned
        memory it returns at once unless non_blocking is False.
        """
        if nbytes < 0:
            raise ValueError(f"cannot copy {nbytes} bytes")
        rate = self.facts.pinned_bytes_per_s if pinned else self.facts.pageable_bytes_per_s
        blocks = not pinned or non_blocking is False
        name = "Memcpy HtoD (Pinned -> Device)" if pinned else "Memcpy HtoD (Pageable -> Device)"
        self._submit(COPY, round(nbytes / rate * 1e9), name, nbytes, blocks, COPY if pinned else _STAGED)

    def _submit(self, kind, duration_ns, name, nbytes, blocks=False, kind_on_page=KERNEL):
        called = monotonic_ns()
        # Asked each time (0.2 us): a cache by get_ident would be wrong once a new thread reuses a dead one's.
        self.launch_thread = thread = threading.get_native_id()
        while True:
            with self._lock:
                now = monotonic_ns()
                pending = self._pending
                if len(pending) >= self.run_ahead:
                    while pending and pending[0] <= now:
                        pending.popleft()
                if len(pending) < self.run_ahead:
                    start = self._done_ns if self._done_ns > now else now
                    self._done_ns = end = start + duration_ns
                    pending.append(end)
                    if self._ring is not None:
                        self._ring.write(start, end, kind_on_page)
                    row = self._log.add(kind, name, thread, called, monotonic_ns(), start, end, nbytes)
                    break
                # Room again when so few are left that one more fits.
                room = pending[len(pending) - self.run_ahead]
            _wait(room, self.spin)
        if blocks:
            _wait(end, self.spin)
            with self._lock:
                self._log.note_return(row, monotonic_ns())

    # Waiting.

    def synchronize(self, spin=None):
        """Wait until everything queued before this call is done."""
        self._synchronize("cudaDeviceSynchronize", spin)

    def item(self):
        """Wait as `loss.item()` does, and return 0.0: an emulated device computes nothing."""
        self._synchronize("cudaStreamSynchronize", None)
        return 0.0

    def _synchronize(self, name, spin):
        called = monotonic_ns()
        _wait(self._done_ns, self.spin if spin is None else spin)
        with self._lock:
            returned = monotonic_ns()
            self._log.add(SYNC, name, threading.get_native_id(), called, returned, called, returned, 0)

    def event(self):
        """Return an event recorded now: it happens when all work queued so far is done."""
        now = monotonic_ns()
        done = self._done_ns
        return Event(done if done > now else now, self.spin)

    # What was done.

    def busy(self):
        """Return (start_s, end_s, kind, name) for each launch and copy, oldest first.

        kind is "kernel" or "copy". Only the newest million operations (syncs
        included) are kept; queued work has times in the future.
        """
        rows = self._rows()
        return [(r.start_ns / 1e9, r.end_ns / 1e9, _KIND_WORDS[r.kind], r.name) for r in rows if r.kind != SYNC]

    def idle_between(self, t0, t1):
        """Return the seconds of [t0, t1] in which no kernel and no copy ran (clock: time.monotonic())."""
        rows = self._rows()
        from_ns, to_ns = round(t0 * 1e9), round(t1 * 1e9)
        idle, covered = 0, from_ns
        # One queue, so rows come in order of start and never overlap.
        for row in rows:
            if row.kind == SYNC or row.end_ns <= covered:
                continue
            if row.start_ns >= to_ns:
                break
            idle += max(0, row.start_ns - covered)
            covered = row.end_ns
        return (idle + max(0, to_ns - covered)) / 1e9

    @property
    def memory_used(self):
        """Bytes in use, None if unknown. Setting it updates the shared page."""
        return self._memory_used

    @memory_used.setter
    def memory_used(self, nbytes):
        with self._lock:
            self._memory_used = nbytes
            if self._ring is not None:
                self._ring.set_memory_used(nbytes)

    def trace(self, path):
        """Add what this device did while the profiler ran to a torch.profiler file (.json or .json.gz)."""
        _edit_json(path, lambda document: _add_to_trace(document, self, self._rows()))

    def _rows(self):
        with self._lock:
            snapshot = self._log.snapshot()
        return _Log.rows(snapshot)


class Event:
    """A recorded point of a device's queue, like a CUDA event with timing. Made by Device.event."""

    __slots__ = ("_spin", "stamp_ns")

    def __init__(self, stamp_ns, spin):
        self.stamp_ns = stamp_ns
        self._spin = spin

    def query(self):
        """Return True once the device has passed this point, without waiting."""
        return monotonic_ns() >= self.stamp_ns

    def elapsed(self, other):
        """Return the seconds on the device from this event to the other."""
        return (other.stamp_ns - self.stamp_ns) / 1e9

    def synchronize(self, spin=None):
        """Wait until the device has passed this point."""
        _wait(self.stamp_ns, self._spin if spin is None else spin)


def current():
    """Return the devices created in this process and still alive. Creates none."""
    return [device for device in (ref() for ref in tuple(_process.devices)) if device is not None]


# About 30 us of work that burns a core without the interpreter lock.
_BURN = bytes(64 << 10)


def _wait(until_ns, spin):
    if not spin:
        while (left := until_ns - monotonic_ns()) > 0:
            time.sleep(left / 1e9)
        return
    # CUDA releases the interpreter lock while it spins; a bare loop here would
    # hold it and starve the loader's threads. sleep(0) releases it, but sleeps
    # (74 us measured) where a spinning core is what we emulate; so: checksums.
    while until_ns - monotonic_ns() > 200_000:
        zlib.crc32(_BURN)
    while monotonic_ns() < until_ns:
        pass


def _clock_offset_ns():
    """Return CLOCK_REALTIME minus CLOCK_MONOTONIC, from the closest of a few paired readings."""
    best = None
    for _ in range(5):
        before = monotonic_ns()
        realtime = time.time_ns()
        after = monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, realtime - (before + after) // 2)
    return best[1]


class _Log:
    """The newest million operations, 56 bytes each, in memory that grows as it fills.

    A deque of tuples was three times as large and gave the garbage collector
    a million objects to walk. Guarded by the device's lock.
    """

    LIMIT = 1_000_000
    NAMES = 10_000  # more distinct names than that are one "other"
    _ROW = struct.Struct("7q")  # kind + name << 8, thread, called, returned, start, end, bytes
    _GROWTH = 4096

    Row = namedtuple("Row", "kind name thread called_ns returned_ns start_ns end_ns nbytes")

    def __init__(self):
        self._data = bytearray()
        self._count = 0
        self._names = {}

    def add(self, kind, name, thread, called_ns, returned_ns, start_ns, end_ns, nbytes):
        """Append an operation and return its number, for `note_return`."""
        number = self._names.get(name)
        if number is None:
            if len(self._names) >= self.NAMES:
                name = "other"
            number = self._names.setdefault(name, len(self._names))
        at = self._count % self.LIMIT * self._ROW.size
        if at >= len(self._data):
            # In steps of an eighth: a doubling at the wrong moment would copy tens of megabytes in a launch.
            self._data += bytes(max(self._GROWTH, self._count // 8) * self._ROW.size)
        word = kind | number << 8
        self._ROW.pack_into(self._data, at, word, thread, called_ns, returned_ns, start_ns, end_ns, nbytes)
        self._count += 1
        return self._count - 1

    def note_return(self, row, at_ns):
        """Note when the host call of an operation came back, unless it has been overwritten."""
        if self._count - row <= self.LIMIT:
            struct.pack_into("q", self._data, row % self.LIMIT * self._ROW.size + 24, at_ns)

    def snapshot(self):
        """Return the operations kept, oldest first, as bytes for `rows`: a copy takes the lock only briefly."""
        kept = min(self._count, self.LIMIT) * self._ROW.size
        first = self._count % self.LIMIT * self._ROW.size if self._count > self.LIMIT else 0
        return bytes(self._data[first:kept]) + bytes(self._data[:first]), list(self._names)

    @classmethod
    def rows(cls, snapshot):
        """Yield the operations of a snapshot."""
        data, names = snapshot
        for word, *rest in cls._ROW.iter_unpack(data):
            yield cls.Row(word & 0xFF, names[word >> 8], *rest)


class _Ring:
    """One device's record and ring on the shared page. Guarded by the lock of its index."""

    ENTRIES = 65_536
    # Native mode ("@") stores each integer whole, so a reader never sees half a counter.
    _ENTRY = struct.Struct("@QQII")
    _COUNTER = struct.Struct("@Q")
    _RECORD = struct.Struct("@64s64sIIIIQQQQI")
    UNKNOWN = 2**64 - 1

    def __init__(self, page, device):
        self._page = page
        self._record = _Page.RECORDS + _Page.RECORD_SIZE * device.index
        self._base = _Page.HEADER + device.index * self.ENTRIES * self._ENTRY.size
        self._written = 0
        self._describe(device)

    def _describe(self, device):
        chip, pid_at = device.facts, self._record + 128
        uuid = f"GPU-emulated-{device.index}"
        # pid 0 hides a half-written record; the number itself comes last.
        struct.pack_into("@I", self._page, pid_at, 0)
        record = self._RECORD.pack(
            chip.name.encode()[:63], uuid.encode(), 0, chip.sm_clock_mhz,
            round(chip.idle_watts * 1000), round(chip.limit_watts * 1000), chip.memory_bytes,
            self.UNKNOWN, 0, device._created_ns, chip.sm_clock_mhz,
        )  # fmt: skip
        self._page[self._record : self._record + len(record)] = record
        self.set_memory_used(device.memory_used)
        struct.pack_into("@I", self._page, pid_at, os.getpid())

    def set_memory_used(self, nbytes):
        self._COUNTER.pack_into(self._page, self._record + 152, self.UNKNOWN if nbytes is None else nbytes)

    def write(self, start_ns, end_ns, kind):
        """Add an interval: entry first, counter last."""
        at = self._base + self._written % self.ENTRIES * self._ENTRY.size
        self._ENTRY.pack_into(self._page, at, start_ns, end_ns, kind, 0)
        self._written += 1
        self._COUNTER.pack_into(self._page, self._record + 160, self._written)


class _Page:
    """The shared page of this process, mapped; see the drawing at the top."""

    MAGIC, VERSION = b"STKEMUL1", 1
    HEADER, RECORDS, RECORD_SIZE, DEVICES = 4096, 1024, 256, 8
    SIZE = HEADER + DEVICES * _Ring.ENTRIES * 24

    def __init__(self, path):
        import mmap

        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with self._locking():
                self._prepare()
            self.memory = mmap.mmap(self._fd, self.SIZE)
        except BaseException:
            os.close(self._fd)
            raise

    def _locking(self):
        """Return a context in which no other rank makes the page or claims a device."""
        return _FileLock(self._fd)

    def _prepare(self):
        """Make the page, or check that an existing file is one: another file stays untouched."""
        found = os.fstat(self._fd)
        if found.st_uid != os.geteuid():
            raise ValueError("it belongs to another user")  # who could cut it while it is mapped
        if not stat.S_ISREG(found.st_mode) or found.st_size not in (0, self.SIZE):
            raise ValueError("not an emulated page")
        try:
            # All blocks now: a full disk is an error here, and not SIGBUS at some later write.
            os.posix_fallocate(self._fd, 0, self.SIZE)
        except OSError:
            os.ftruncate(self._fd, found.st_size)
            raise
        magic, version = struct.unpack("@8sI", os.pread(self._fd, 12, 0))
        if magic == bytes(8):
            os.pwrite(self._fd, struct.pack("@II", self.VERSION, 0), 8)
            os.pwrite(self._fd, self.MAGIC, 0)
        elif (magic, version) != (self.MAGIC, self.VERSION):
            raise ValueError("not an emulated page of version 1")

    def claim(self, device):
        """Return the ring of the device's index, which must not belong to another living process."""
        if device.index >= self.DEVICES:
            raise ValueError(f"device {device.index}: the page has room for {self.DEVICES}")
        with self._locking():
            (pid,) = struct.unpack_from("@I", self.memory, self.RECORDS + self.RECORD_SIZE * device.index + 128)
            if pid not in (0, os.getpid()) and _alive(pid):
                raise ValueError(f"device {device.index} belongs to process {pid}")
            ring = _Ring(self.memory, device)
            (count,) = struct.unpack_from("@I", self.memory, 12)
            struct.pack_into("@I", self.memory, 12, max(count, device.index + 1))
        return ring


class _FileLock:
    def __init__(self, fd):
        self._fd = fd

    def __enter__(self):
        import fcntl

        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_):
        import fcntl

        fcntl.flock(self._fd, fcntl.LOCK_UN)


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


class _Process:
    """What the devices of one process share. A forked child starts with an empty one."""

    def __init__(self):
        self.devices = []  # weak references, in the order of creation
        self._guard = threading.Lock()  # guards the three below
        self._locks = {}
        self._rings = {}
        self._page = None  # None: not tried yet; False: off

    def lock(self, index):
        """Return the lock of this index: two Device(0) of one process share a ring."""
        with self._guard:
            return self._locks.setdefault(index, threading.Lock())

    def ring(self, device):
        """Return the ring of the device's index, or None where there is no page."""
        path = os.environ.get("STOKER_EMULATED_PAGE")
        if not path:
            return None
        with self._guard:
            if device.index in self._rings:
                return self._rings[device.index]
            ring = None
            try:
                if self._page is None:
                    self._page = False
                    self._page = _Page(path)
                if self._page:
                    ring = self._page.claim(device)
            except (OSError, ValueError, AttributeError, ImportError) as error:
                # To stderr and not through `warnings`, which -W error turns into an exception.
                print(f"stoker: warning: emulated page {path} is off: {error}", file=sys.stderr)
            self._rings[device.index] = ring
            return ring


_process = _Process()


def _after_fork_in_child():
    """Detach inherited devices: they keep their arithmetic but never write the parent's page."""
    global _process
    inherited = current()
    _process = _Process()
    for device in inherited:
        device._ring = None
        device._lock = _process.lock(device.index)  # the parent's may be held by a thread that is not here
        device.launch_thread = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


# torch.profiler files.

_STREAM = 7  # the default stream as Kineto numbers it


def _edit_json(path, edit):
    """Load a .json or .json.gz file, let edit change it, and put the result in its place in one step."""
    import gzip
    import json
    import tempfile

    path = os.path.realpath(path)
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    edit(document)
    suffix = ".gz" if path.endswith(".gz") else ""
    fd, temporary = tempfile.mkstemp(suffix, ".stoker-", os.path.dirname(path))
    try:
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.close(fd)
        with opener(temporary, "wt", encoding="utf-8") as file:
            json.dump(document, file)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _add_to_trace(document, device, rows):
    """Add the operations that the host asked for while the profiler ran.

    Kineto writes ts in microseconds of CLOCK_REALTIME after baseTimeNanoseconds
    (checked with torch 2.15: a span agrees with time.time_ns() to some
    microseconds). Device work that began before the profiler is left out, as
    CUPTI leaves it out.
    """
    events = document.get("traceEvents") if isinstance(document, dict) else None
    spans = [e for e in events or () if e.get("ph") == "X" and "ts" in e]
    if not spans:
        raise ValueError("not a torch.profiler trace: it has no timed events")
    profiled = [e for e in spans if e.get("cat") == "Trace"] or spans
    first = min(e["ts"] for e in profiled)
    last = max(e["ts"] + e.get("dur", 0) for e in profiled)
    base = document.get("baseTimeNanoseconds", 0) - device._realtime_minus_monotonic_ns
    correlation = max((_correlation(e) for e in spans), default=0)
    events += _trace_metadata(device, first)
    for row in rows:
        ts = _microseconds(row.called_ns - base)
        if first <= ts <= last:
            correlation += 1
            events += _trace_events(device, row, base, correlation)
    properties = document.setdefault("deviceProperties", [])
    if not any(p.get("id") == device.index for p in properties):
        chip = device.facts
        properties.append(
            {
                "id": device.index,
                "name": chip.name + " (emulated)",
                "totalGlobalMem": chip.memory_bytes,
                "emulated": True,
            }
        )


def _microseconds(nanoseconds):
    return round(nanoseconds / 1000, 3)


def _correlation(event):
    found = (event.get("args") or {}).get("correlation", 0)
    return found if isinstance(found, int) else 0


def _trace_metadata(device, ts):
    def row(name, tid, /, **args):
        args["emulated"] = True
        return {"ph": "M", "name": name, "ts": ts, "pid": device.index, "tid": tid, "args": args}

    return [
        row("process_name", 0, name="python"),
        row("process_labels", 0, labels=f"GPU {device.index} (emulated)"),
        row("process_sort_index", 0, sort_index=5_000_000 + device.index),  # below the host's rows, as Kineto does
        row("thread_name", _STREAM, name=f"stream {_STREAM}"),
        row("thread_sort_index", _STREAM, sort_index=_STREAM),
    ]


def _trace_events(device, row, base, correlation):
    """Return the host call of one operation and, but for a sync, its device work and the arrow between."""
    pid, ts = os.getpid(), _microseconds(row.called_ns - base)
    start = _microseconds(row.start_ns - base)
    call = {KERNEL: "cudaLaunchKernel", COPY: "cudaMemcpyAsync"}.get(row.kind, row.name)
    host = {"ph": "X", "cat": "cuda_runtime", "name": call, "pid": pid, "tid": row.thread, "ts": ts}
    host["dur"] = _microseconds(row.returned_ns - row.called_ns)
    host["args"] = {"correlation": correlation, "emulated": True}
    if row.kind == SYNC:
        return [host]
    category = "kernel" if row.kind == KERNEL else "gpu_memcpy"
    work = {"ph": "X", "cat": category, "name": row.name, "pid": device.index, "tid": _STREAM, "ts": start}
    work["dur"] = _microseconds(row.end_ns - row.start_ns)
    work["args"] = {"device": device.index, "stream": _STREAM, "correlation": correlation, "emulated": True}
    if row.kind == COPY:
        work["args"]["bytes"] = row.nbytes
    arrow = {"cat": "ac2g", "name": "ac2g", "id": correlation}
    return [
        host,
        work,
        {"ph": "s", "pid": pid, "tid": row.thread, "ts": ts, **arrow},
        {"ph": "f", "pid": device.index, "tid": _STREAM, "ts": start, "bp": "e", **arrow},
    ]
