"""How full will a ferry be? gRPC with asyncio; who has asked while the device was busy is in its next pass."""

import asyncio
import sys

import grpc
import torch
from parts import Net, infer

MOST = 16
torch.set_num_threads(1)
model = Net(0.260, 0.006).eval()


class Ferries:
    def __init__(self):
        self.asked = asyncio.Queue()

    async def work(self):
        while True:
            batch = [await self.asked.get()]
            while len(batch) < MOST and not self.asked.empty():
                batch.append(self.asked.get_nowait())
            out = await asyncio.to_thread(infer, model, torch.stack([x for x, _ in batch]))
            for (_, answer), row in zip(batch, out):
                answer.set_result(row)

    async def fill(self, request, context):
        answer = asyncio.get_running_loop().create_future()
        self.asked.put_nowait((torch.full((8,), float(len(request))), answer))
        return str(float((await answer).mean())).encode()


async def main():
    ferries = Ferries()
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(ferries.fill)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("harbour.Ferries", {"Fill": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    await server.start()
    await ferries.work()


if __name__ == "__main__":
    asyncio.run(main())
