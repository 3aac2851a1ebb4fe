"""gRPC: python bench/serving/unseen2/rpcs.py CASE PORT, and a load: rpcs.py load --port PORT --clients N --think S."""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

METHOD = "/bench.Speech/Recognise"


def serve(case, port):
    import torch
    from parts import Net, infer, lock

    net = Net().eval()
    audit = threading.Lock()

    def recognise(request, context):
        if case == "grpc-audit":
            with audit:  # the cause of grpc-audit: a log that is written by one thread at a time, to a slow share
                time.sleep(0.065)  # the cause of grpc-audit
        with lock:
            infer(net, torch.zeros(1, 8))
        return b"words"

    server = grpc.server(ThreadPoolExecutor(8))
    handler = grpc.unary_unary_rpc_method_handler(recognise)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Speech", {"Recognise": handler}),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def load(port, clients, seconds, think):
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    grpc.channel_ready_future(channel).result(60)
    call, times = channel.unary_unary(METHOD), []
    sound, until = os.urandom(30_000), time.perf_counter() + seconds

    def client():
        while (begun := time.perf_counter()) < until:
            call(sound)
            times.append(time.perf_counter() - begun)
            time.sleep(think)

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
        load(int(at["--port"]), int(at["--clients"]), float(at["--seconds"]), float(at.get("--think", 0)))
    else:
        serve(sys.argv[1], int(sys.argv[2]))
