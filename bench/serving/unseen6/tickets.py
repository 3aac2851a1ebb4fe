"""Which team gets a ticket? FastAPI; browsers also ask how their tickets are, and are answered once there is news."""

import sys
import threading
import time

import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, infer

PATIENCE = 1.5
TEAMS = ("billing", "network", "accounts")
model = Net(0.030, 0.001).eval()
on_device = threading.Lock()
changed_at = {}
app = FastAPI()


def news_of(ticket, since):
    """News of a ticket, or none after a while."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if changed_at.get(ticket, 0.0) > since:
            return {"ticket": ticket, "changed": changed_at[ticket]}
        time.sleep(0.05)
    return {"ticket": ticket, "changed": None}


@app.get("/tickets/{ticket}/news")
def news(ticket: int, since: float = 0.0):
    return news_of(ticket, since)


@app.post("/tickets")
def route(asked: dict):
    text = asked.get("text", "the line is dead since Monday")
    with on_device:
        out = infer(model, torch.zeros(1, 8))
    return {"team": TEAMS[len(text) % len(TEAMS)], "score": float(out.sum())}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
