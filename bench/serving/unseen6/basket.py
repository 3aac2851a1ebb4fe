"""What else may somebody buy? Starlette; SQLite has features of 300 articles."""

import asyncio
import os
import sys
import tempfile
from contextlib import asynccontextmanager

import aiosqlite
import torch
import uvicorn
from parts import Net, infer
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

ARTICLES, CANDIDATES = 20_000, 300
model = Net(0.010, 0.00002).eval()
gpu = asyncio.Lock()


class Features:
    """A table of the shop's articles."""

    async def open(self, path):
        self.db = await aiosqlite.connect(path)
        await self.db.execute("create table article (id integer primary key, price real, sold real, stock real)")
        await self.db.executemany("insert into article values (?, ?, ?, ?)", [(n, n / 7, n % 13, n % 5) for n in range(ARTICLES)])
        await self.db.commit()

    async def of(self, article):
        async with self.db.execute("select price, sold, stock from article where id = ?", (article,)) as rows:
            return await rows.fetchone()


features = Features()


def candidates(article):
    return [(article * 31 + 97 * n) % ARTICLES for n in range(CANDIDATES)]


async def recommend(request):
    asked = await request.json()
    articles = candidates(asked.get("article", 11))
    rows = []
    for article in articles:
        rows.append(await features.of(article))
    async with gpu:
        scores = await asyncio.to_thread(infer, model, torch.tensor(rows))
    best = scores.sum(1).topk(5).indices.tolist()
    return JSONResponse({"articles": [articles[n] for n in best]})


@asynccontextmanager
async def lifespan(_):
    with tempfile.TemporaryDirectory() as folder:
        await features.open(os.path.join(folder, "shop.db"))
        yield
        await features.db.close()


app = Starlette(routes=[Route("/recommend", recommend, methods=["POST"])], lifespan=lifespan)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
