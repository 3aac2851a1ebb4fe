"""When is each word of a song sung? gRPC with threads; the words are laid along the sound."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import torch
from parts import Net, infer

FRAMES, LETTERS, TOKENS = 2_400, 32, 60
torch.set_num_threads(1)
model = Net(0.030, 0.001).eval()
gpu = threading.Lock()


def trellis_of(emission, tokens):
    """How likely it is that so many tokens were sung at a frame."""
    trellis = torch.zeros(FRAMES, len(tokens))
    trellis[1:, 0] = torch.cumsum(emission[1:, 0], 0)
    trellis[0, 1:] = -float("inf")
    for t in range(FRAMES - 1):
        stay = trellis[t, 1:] + emission[t, 0]
        go = trellis[t, :-1] + emission[t, tokens[1:]]
        trellis[t + 1, 1:] = torch.maximum(stay, go)
    return trellis


def path_of(trellis, emission, tokens):
    """Back from the last token to the first."""
    t, j, path = FRAMES - 1, len(tokens) - 1, []
    while j > 0 and t > 0:
        stayed = trellis[t - 1, j] + emission[t - 1, 0]
        changed = trellis[t - 1, j - 1] + emission[t - 1, tokens[j]]
        path.append((j, t))
        t -= 1
        if changed > stayed:
            j -= 1
    return path[::-1]


def align(request, context):
    with gpu:
        infer(model, torch.zeros(1, 8))
    emission = torch.randn(FRAMES, LETTERS).log_softmax(-1)
    tokens = torch.randint(1, LETTERS, (TOKENS,))
    path = path_of(trellis_of(emission, tokens), emission, tokens)
    return json.dumps({"sung": len(path)}).encode()


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(8))
    handler = grpc.unary_unary_rpc_method_handler(align)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("songs.Karaoke", {"Align": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    server.wait_for_termination()
