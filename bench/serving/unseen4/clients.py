"""A closed loop of gRPC: python bench/serving/unseen4/clients.py rpc --method /PACKAGE.SERVICE/NAME --port PORT --seconds S [--numbers N]."""

import argparse
import json
import threading
import time

import grpc
from google.protobuf import struct_pb2


def payload(numbers):
    if not numbers:
        return b"a sentence, as people search for it"
    readings = struct_pb2.ListValue()
    readings.extend([i / 7 for i in range(numbers)])
    return readings.SerializeToString()


def main(o):
    channel = grpc.insecure_channel(f"127.0.0.1:{o.port}", options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
    grpc.channel_ready_future(channel).result(90)
    call, message, times = channel.unary_unary(o.method), payload(o.numbers), []
    call(message)
    until = time.perf_counter() + o.seconds

    def client():
        while (begun := time.perf_counter()) < until:
            call(message)
            times.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=client) for _ in range(o.clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    times.sort()
    print(json.dumps({"rate": len(times) / o.seconds, "p50": times[len(times) // 2] if times else None}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=["rpc"])
    p.add_argument("--method", required=True)
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--clients", type=int, default=1)
    p.add_argument("--numbers", type=int, default=0)
    main(p.parse_args())
