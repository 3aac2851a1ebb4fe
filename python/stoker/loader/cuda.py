"""All of torch.cuda that the loader needs, in one place, so that tests can put a stand-in there."""

from __future__ import annotations

from typing import Any


class Cuda:
    """The device side of handing over. It never initialises CUDA but for an Uploader."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def live(self) -> bool:
        """Whether this process uses CUDA."""
        return self._torch.cuda.is_initialized()

    def start(self, device: Any) -> None:
        """Initialise CUDA."""
        self._torch.cuda.init()

    def pin(self, address: int, size: int) -> str:
        """Page-lock memory of ours; the answer is why not, or empty."""
        try:
            runtime = self._torch.cuda.cudart()
            code = runtime.cudaHostRegister(address, size, 1)  # 1: for all contexts, as torch does it
            return "" if int(code) == 0 else f"cudaHostRegister answered {code}"
        except Exception as error:  # whatever it is, training goes on with pageable memory
            return str(error)

    def unpin(self, address: int) -> None:
        self._torch.cuda.cudart().cudaHostUnregister(address)

    def fence(self) -> Any:
        """An event after all copies that this thread has asked for, or None without CUDA."""
        if not self.live():
            return None
        if self._torch.cuda.is_current_stream_capturing():
            return _After(self)
        event = self._torch.cuda.Event()
        event.record()
        return event

    def stream(self, device: Any) -> Any:
        return self._torch.cuda.Stream(device)

    def on(self, stream: Any) -> Any:
        """The context in which work goes to a stream."""
        return self._torch.cuda.stream(stream)

    def event_on(self, stream: Any) -> Any:
        event = self._torch.cuda.Event()
        event.record(stream)
        return event

    def current(self, device: Any) -> Any:
        return self._torch.cuda.current_stream(device)


class _After:
    """A fence that cannot be recorded while a graph is being captured: it is set when it is asked."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self._event: Any = None

    def query(self) -> bool:
        if self._event is None or isinstance(self._event, _After):
            self._event = self._cuda.fence()
            return self._event is None
        return self._event.query()


class Uploader:
    """Copies a batch to the device on a stream of its own, while the device computes on the one before."""

    def __init__(self, cuda: Cuda, device: Any) -> None:
        cuda.start(device)
        self._cuda = cuda
        self._device = device
        self._stream = cuda.stream(device)

    def send(self, tensors: list[Any], finish: Any) -> tuple[list[Any], Any, Any]:
        """Begin copying. The first event says when the host's memory has been read, the second when finish is done."""
        with self._cuda.on(self._stream):
            copies = [tensor.to(self._device, non_blocking=True) for tensor in tensors]
            copied = self._cuda.event_on(self._stream)
            return finish(copies), copied, self._cuda.event_on(self._stream)

    def receive(self, tensors: list[Any], done: Any) -> list[Any]:
        """Let the stream in use wait for the copies; from here on they are its own."""
        current = self._cuda.current(self._device)
        current.wait_event(done)
        for tensor in tensors:
            if getattr(tensor, "is_cuda", False):
                tensor.record_stream(current)
        return tensors
