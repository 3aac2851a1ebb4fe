"""Many profiler traces as one table: a line of JSON for each, with its verdict.

    python examples/bulk/traces.py FOLDER [--workers 2] > traces.jsonl     with processes of this machine
    python examples/bulk/traces.py FOLDER --ray > traces.jsonl             with a Ray cluster that sees FOLDER (pip install 'ray[data]')
    duckdb -c "COPY (FROM 'traces.jsonl') TO 'traces.parquet'"

A trace that cannot be read has its reason in `error`. Columns: docs/share.md.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib

import stoker

ENDS = (".json", ".json.gz", ".json.zst", ".sqlite", ".xplane.pb")


def row(path):
    """The columns of a trace; unknown ones are None."""
    told = dict.fromkeys(("class", "au", "stall", "step_s", "steps", "kernel", "kernel_s", "fix", "speedup", "error"))
    try:
        found = stoker.trace(path)
    except stoker.StokerError as error:
        return {"trace": path, **told, "error": str(error)}
    idle, kernels, plan = found["shares"]["idle"], found["kernels"], found["plan"]
    told.update({"class": found["verdict"]["class"], "stall": found["verdict"]["stall"], "au": None if idle is None else 1 - idle})
    told.update({"step_s": found["step"]["mean_s"], "steps": found["step"]["count"]} if found["step"] else {})
    told.update({"kernel": kernels[0]["name"], "kernel_s": kernels[0]["seconds"]} if kernels else {})
    told.update({"fix": plan[0]["title"], "speedup": (plan[0]["speedup"] or {}).get("point")} if plan else {})
    return {"trace": path, **told}


def rows(paths, workers, on_ray):
    if not on_ray:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:  # the work is done in processes of stoker
            yield from map(json.dumps, pool.map(row, paths))
        return
    import ray

    data = ray.data.from_items([{"trace": path} for path in paths], override_num_blocks=len(paths))
    for item in data.map(lambda item: {"line": json.dumps(row(item["trace"]))}).iter_rows():  # as text: a column that is null in one block has no type there
        yield item["line"]


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("folder", type=pathlib.Path)
    parse.add_argument("--workers", type=int, default=os.cpu_count())
    parse.add_argument("--ray", action="store_true")
    args = parse.parse_args()
    paths = sorted(str(path.resolve()) for path in args.folder.rglob("*") if path.name.endswith(ENDS))
    for line in rows(paths, args.workers, args.ray):
        print(line)


if __name__ == "__main__":
    main()
