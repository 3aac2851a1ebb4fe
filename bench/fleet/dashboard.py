"""Asks a Prometheus each query of a dashboard and fails where one has no answer.

    python3 bench/fleet/dashboard.py examples/fleet/dashboard.json http://127.0.0.1:29790
"""

import json
import sys
import urllib.parse
import urllib.request


def main(path, prometheus):
    with open(path, encoding="utf-8") as file:
        queries = [(panel["title"], target["expr"]) for panel in json.load(file)["panels"] for target in panel["targets"]]
    silent = 0
    for title, expression in queries:
        query = expression.replace("$instance", ".*").replace("$hpc_job", ".*").replace("$__rate_interval", "1m")
        with urllib.request.urlopen(f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": query})) as answer:
            result = json.load(answer)["data"]["result"]
        silent += not result
        print(f"{len(result):6d} series  {title}: {expression}")
    return 1 if silent or not queries else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
