"""Writes the next words of a novel. gRPC with threads; keys and values of a long text are in the host's memory."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import torch
from parts import Net, device, infer

LAYERS, TOKENS = 24, 6
PER_LAYER = 24 << 20  # bytes of keys and values


class Memory:
    """Keys and values of each layer, which the device has no room for."""

    def __init__(self):
        self.size = PER_LAYER

    def to_device(self, layer):
        device().copy(self.size)


class Writer:
    def __init__(self):
        self.layers = [Net(0.0004, 0.0).eval() for _ in range(LAYERS)]
        self.turn = threading.Lock()

    def next_word(self, x, memory):
        for n, layer in enumerate(self.layers):
            memory.to_device(n)
            x = layer(x)
        return infer(self.layers[0], x)

    def write(self, request, context):
        memory, x = Memory(), torch.zeros(1, 8)
        with self.turn, torch.inference_mode():
            for _ in range(TOKENS):
                x = self.next_word(x, memory)
        return b"and so on"


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(8))
    handler = grpc.unary_unary_rpc_method_handler(Writer().write)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("books.Novels", {"Continue": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    server.wait_for_termination()
