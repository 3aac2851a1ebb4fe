"""How a protein folds, in large batches. gRPC with threads, and one thread that owns the model."""

import queue
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import grpc
import torch
from parts import Net, infer

MOST = 8
torch.set_num_threads(1)
waiting = queue.Queue()


def encode(sequence):
    """Numbers of amino acids, and which of them are near."""
    ids = torch.tensor([b % 21 for b in sequence[:256]])
    near = (ids[:, None] - ids[None]).abs() < 3
    return ids.float(), near.float().mean(0)


def pad(batch):
    ids = torch.zeros(len(batch), 256)
    for row, (sequence, _) in zip(ids, batch):
        row[: len(sequence)] = sequence
    return ids


def fold_all():
    model = Net(0.150, 0.030).eval()
    while True:
        taken = [waiting.get()]
        while len(taken) < MOST and not waiting.empty():
            taken.append(waiting.get_nowait())
        infer(model, pad([x for x, _ in taken]))
        for _, answer in taken:
            answer.set_result(b"ATOM 1")


def fold(request, context):
    answer = Future()
    waiting.put((encode(request), answer))
    return answer.result()


if __name__ == "__main__":
    threading.Thread(target=fold_all, daemon=True).start()
    server = grpc.server(ThreadPoolExecutor(32))
    handler = grpc.unary_unary_rpc_method_handler(fold)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("lab.Folding", {"Fold": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    server.wait_for_termination()
