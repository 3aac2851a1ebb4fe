"""gRPC: python bench/serving/unseen/rpc.py CASE PORT, and its load: rpc.py load --port PORT --clients N --seconds S."""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

METHOD = "/bench.Model/Predict"


def serve(case, port):
    import numpy as np
    import torch
    from parts import Net, infer, lock

    net = Net().eval()

    def predict(request, context):
        if case == "grpc-normalise":
            pixels = np.frombuffer(request, np.uint8).astype(np.float64) / 255.0  # the cause of grpc-normalise
            pixels = np.sqrt((pixels - pixels.mean()) ** 2 / pixels.var())  # the cause of grpc-normalise
            pixels = np.log1p(np.abs(np.sin(pixels)))  # the cause of grpc-normalise
        if case == "grpc-one-worker":
            time.sleep(0.080)  # the cause of grpc-one-worker: another service is asked by the only worker
        with lock:
            infer(net, torch.zeros(1, 8))
        return b"0"

    server = grpc.server(ThreadPoolExecutor(1 if case == "grpc-one-worker" else 4))
    handler = grpc.unary_unary_rpc_method_handler(predict)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Model", {"Predict": handler}),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def load(port, clients, seconds):
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    grpc.channel_ready_future(channel).result(60)
    predict, picture, times = channel.unary_unary(METHOD), os.urandom(3_500_000), []
    until = time.perf_counter() + seconds

    def client():
        while (begun := time.perf_counter()) < until:
            predict(picture)
            times.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    times.sort()
    print(json.dumps({"rate": len(times) / seconds, "p50": times[len(times) // 2] if times else None}))


if __name__ == "__main__":
    if sys.argv[1] == "load":
        at = {sys.argv[i]: sys.argv[i + 1] for i in range(2, len(sys.argv) - 1)}
        load(int(at["--port"]), int(at["--clients"]), float(at["--seconds"]))
    else:
        serve(sys.argv[1], int(sys.argv[2]))
