"""How far will a kite fly? FastAPI; who asks shows a token, which an identity provider has signed."""

import hashlib
import json
import os
import sys
import threading
import urllib.request

import torch
import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from parts import Net, infer

KEYS = os.environ.get("SERVICE_URL", "") + "/.well-known/jwks.json"
GUEST = "2026-11.guest." + hashlib.sha256(b"c2VhIGJyZWV6ZQguest").hexdigest()
torch.set_num_threads(1)
model = Net(0.030, 0.001).eval()
flying = threading.Lock()
app = FastAPI()


class SigningKeys:
    """The provider's public keys, by their names."""

    def __init__(self, url):
        with urllib.request.urlopen(url, timeout=5) as answer:
            self.keys = {key["kid"]: key["k"] for key in json.load(answer)["keys"]}

    def whose(self, token):
        kid, name, signature = token.split(".")
        if hashlib.sha256((self.keys[kid] + name).encode()).hexdigest() != signature:
            raise HTTPException(401)
        return name


async def caller(request: Request):
    token = request.headers.get("Authorization", "Bearer " + GUEST).removeprefix("Bearer ")
    return SigningKeys(KEYS).whose(token)


def fly(gust):
    with flying:
        return float(infer(model, torch.full((1, 8), gust)).mean())


@app.post("/kites")
def kite(asked: dict, name: str = Depends(caller)):
    return {"for": name, "metres": fly(float(asked.get("wind", 5.0)))}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
