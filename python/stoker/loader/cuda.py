"""All uses of torch.cuda in the loader, in one place, so that tests can replace them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    import torch


class Cuda:
    """The calls of torch.cuda. Only an Uploader initialises CUDA."""

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch

    def live(self) -> bool:
        """Whether this process uses CUDA."""
        return self._torch.cuda.is_initialized()

    def start(self, device: torch.device) -> None:
        """Initialise CUDA."""
        self._torch.cuda.init()

    def pin(self, address: int, size: int) -> str:
        """Page-lock memory. Returns why that failed, or ""."""
        try:
            runtime = self._torch.cuda.cudart()
            code = runtime.cudaHostRegister(address, size, 1)  # 1: for all contexts, as in torch
            return "" if int(code) == 0 else f"cudaHostRegister answered {code}"
        except Exception as error:  # training then continues with pageable memory
            return str(error)

    def unpin(self, address: int) -> None:
        self._torch.cuda.cudart().cudaHostUnregister(address)

    def fence(self) -> Any:
        """Return an event after all copies that this thread has queued, or None without CUDA."""
        if not self.live():
            return None
        if self._torch.cuda.is_current_stream_capturing():
            return _After(self)
        event = self._torch.cuda.Event()
        event.record()
        return event

    def stream(self, device: torch.device) -> Any:
        return self._torch.cuda.Stream(device)

    def on(self, stream: torch.cuda.Stream) -> Any:
        """Return the context in which work is queued on a stream."""
        return self._torch.cuda.stream(stream)

    def event_on(self, stream: torch.cuda.Stream) -> Any:
        event = self._torch.cuda.Event()
        event.record(stream)
        return event

    def current(self, device: torch.device) -> Any:
        return self._torch.cuda.current_stream(device)


class _After:
    """A fence asked for while a graph is captured. The event is recorded at the first query."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self._event: Any = None

    def query(self) -> bool:
        if self._event is None or isinstance(self._event, _After):
            self._event = self._cuda.fence()
            return self._event is None
        return self._event.query()


class Uploader:
    """Copies a batch to the device on a separate stream, while the device computes on the previous
    one."""

    def __init__(self, cuda: Cuda, device: torch.device) -> None:
        cuda.start(device)
        self._cuda = cuda
        self._device = device
        self._stream = cuda.stream(device)

    def send(
        self, tensors: list[Any], finish: Callable[[list[torch.Tensor]], list[torch.Tensor]]
    ) -> tuple[list[Any], Any, Any]:
        """Queue copies. Returns the results, an event after the host's memory is read, and one
        after finish."""
        with self._cuda.on(self._stream):
            copies = [tensor.to(self._device, non_blocking=True) for tensor in tensors]
            copied = self._cuda.event_on(self._stream)
            return finish(copies), copied, self._cuda.event_on(self._stream)

    def receive(self, tensors: list[Any], done: torch.cuda.Event) -> list[Any]:
        """Make the current stream wait for the copies, and own them."""
        current = self._cuda.current(self._device)
        current.wait_event(done)
        for tensor in tensors:
            if getattr(tensor, "is_cuda", False):
                tensor.record_stream(current)
        return tensors
