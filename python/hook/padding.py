"""Counts the padding of a batch: the fill that makes its samples equally long.

Only what is plain to see counts: a plain tensor on the CPU of two dimensions, samples by length, whose rows end (or
begin) in runs of one value that is nearly never inside of them. A one-hot label or a mask of zeros and ones does not count.
"""

import sys

CELLS = 1 << 15  # of a batch that are read: of a larger one its first samples
LEAST_ROWS, LEAST_LENGTH = 2, 16
LEAST_RUN = 4  # of the fill in some sample: shorter ones begin with the same token [J]
INSIDE = 0.02  # share of the samples' own values that may equal the fill [J]


def count_padding(torch, found):
    """Return [numbers, of them padding, of them beyond the longest sample], or None if the tensor has no such rows."""
    numpy, ctypes = sys.modules.get("numpy"), sys.modules.get("ctypes")
    plain = numpy is not None and ctypes is not None and type(found) is torch.Tensor and found.device.type == "cpu"
    if not plain or found.layout is not torch.strided or found.dtype not in (torch.int64, torch.int32, torch.float32):
        return None
    if found.dim() != 2 or not found.is_contiguous() or found.is_neg():
        return None
    length = found.shape[1]
    if length < LEAST_LENGTH or min(found.shape[0], CELLS // length) < LEAST_ROWS:
        return None
    count = min(found.shape[0], CELLS // length)
    # The memory itself: tensor.numpy() is an operation that a profiler records and a dispatch mode sees.
    memory = (ctypes.c_char * (count * length * found.element_size())).from_address(found.data_ptr())
    rows = numpy.frombuffer(memory, str(found.dtype).replace("torch.", "")).reshape(count, length)
    return max(filter(None, (_count(numpy, rows[:, ::-1]), _count(numpy, rows))), key=lambda counts: counts[1], default=None)


def _count(numpy, rows):
    """Of rows that begin with their padding."""
    fill = rows[(rows != rows[:, :1]).argmax(1).argmax(), 0]  # that of the longest run
    if fill != 0 if rows.dtype.kind == "f" else fill < 0:
        return None  # negative: of labels, which leave out a prompt too
    other = rows != fill
    lengths = numpy.where(other.any(1), rows.shape[1] - other.argmax(1), 0)
    inside = int(lengths.sum())
    if rows.shape[1] - lengths.min() < LEAST_RUN or not lengths.all() or inside - int(other.sum()) > INSIDE * inside or len(numpy.unique(rows[:4, -64:])) <= 2:
        return None
    return [rows.size, rows.size - inside, int((rows.shape[1] - lengths.max()) * len(rows))]
