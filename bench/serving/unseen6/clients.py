"""Loads that ../load.py does not have: python bench/serving/unseen6/clients.py fresh|polls --port PORT --seconds S [--clients N].

fresh   each request opens a connection, and one that fails is made again
polls   N clients ask the model, and POLLS more ask for news, which they get late
"""

import argparse
import http.client
import json
import os
import threading
import time

times, failed = [], []


def ask(o, method, path, seconds=60):
    connection = http.client.HTTPConnection("127.0.0.1", o.port, timeout=seconds)
    try:
        connection.request(method, path, b"{}" if method == "POST" else None, {"Content-Type": "application/json", "Connection": "close"})
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def wait_until_open(o):
    until = time.monotonic() + 100
    while time.monotonic() < until and not ask(o, "POST", o.path, 20):
        time.sleep(0.3)


def client(o, until):
    while (begun := time.perf_counter()) < until:
        if ask(o, "POST", o.path):
            times.append(time.perf_counter() - begun)
        else:
            failed.append(begun)
            time.sleep(0.1)


def browser(o, n, until):
    while time.perf_counter() < until:
        ask(o, "GET", f"/tickets/{n}/news")


def main(o):
    wait_until_open(o)
    until = time.perf_counter() + o.seconds
    threads = [threading.Thread(target=client, args=(o, until), daemon=True) for _ in range(o.clients)]
    if o.kind == "polls":
        threads += [threading.Thread(target=browser, args=(o, n, until), daemon=True) for n in range(o.polls)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(o.seconds + 30)
    times.sort()
    print(json.dumps({"rate": len(times) / o.seconds, "p50": times[len(times) // 2] if times else None, "failed": len(failed)}), flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=["fresh", "polls"])
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--path", required=True)
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--clients", type=int, default=1)
    p.add_argument("--polls", type=int, default=56)
    main(p.parse_args())
    os._exit(0)
