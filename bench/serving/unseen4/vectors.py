"""Vectors of sentences. gRPC with asyncio."""

import asyncio
import sys

import grpc
import torch
from parts import Net, infer

MAX_BATCH, LINGER = 64, 0.250
model = Net(0.025, 0.001).eval()
asked = asyncio.Queue()


async def gather():
    """A batch: the first sentence, and those that come soon after it."""
    batch = [await asked.get()]
    await asyncio.sleep(LINGER)
    while len(batch) < MAX_BATCH and not asked.empty():
        batch.append(asked.get_nowait())
    return batch


async def encode():
    while True:
        batch = await gather()
        await asyncio.to_thread(infer, model, torch.zeros(len(batch), 8))
        for answer in batch:
            answer.set_result(b"\0" * 1536)


async def embed(request, context):
    answer = asyncio.get_running_loop().create_future()
    asked.put_nowait(answer)
    return await answer


async def main():
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(embed)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("search.Vectors", {"Embed": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    await server.start()
    await asyncio.gather(encode(), server.wait_for_termination())


if __name__ == "__main__":
    asyncio.run(main())
