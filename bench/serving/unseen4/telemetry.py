"""Does a machine behave as it should? gRPC; readings come as numbers of protobuf."""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import torch
from google.protobuf import struct_pb2
from google.protobuf.json_format import MessageToDict
from parts import Net, infer, lock

model = Net(0.022, 0.001).eval()


def score(request, context):
    readings = MessageToDict(request)
    x = torch.tensor(readings)
    with lock:
        infer(model, x[None])
    return struct_pb2.Value(number_value=0.02)


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.max_receive_message_length", 64 << 20)])
    handler = grpc.unary_unary_rpc_method_handler(score, struct_pb2.ListValue.FromString, struct_pb2.Value.SerializeToString)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("plant.Telemetry", {"Score": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    server.wait_for_termination()
