"""Do DuckDB and Arrow read from stoker's Parquet what the recordings hold? Value by value, then over a bucket.

    python bench/bulk/readback.py [--copies 0] [--bucket] RECORDING...

needs a Python with duckdb, pyarrow (for --bucket moto[server], boto3 and DuckDB's httpfs, from PyPI: duckdb-extension-httpfs); STOKER_BIN.
--copies N makes a folder of N copies of the recordings first and says how long each query of docs/runs.md takes there.
Exits 1 where a value differs.
"""

import argparse
import gzip
import importlib.util
import json
import math
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import duckdb
import pyarrow.parquet

STOKER = os.environ.get("STOKER_BIN", "bin/stoker")
TABLE = pathlib.Path(__file__).parents[2] / "internal/parquet/testdata/table.parquet"
QUERIES = {
    "steps": "SELECT recording, rank, count(*), avg(device_period_s), avg(device_idle_s) FROM '{}' WHERE judged GROUP BY ALL",
    "signals": "SELECT host, subject, count(*), avg(value) FROM '{}' WHERE signal = 'gpu.power' GROUP BY ALL",
    "runs": "SELECT class, count(*), sum(lost_usd) FROM '{}' GROUP BY ALL ORDER BY 3 DESC",
}


def lines(path):
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rt") if packed else open(path) as file:
        return [json.loads(line) for line in file]


def held(paths):
    """Steps and values of signals, as the recordings' lines have them."""
    steps, values = {}, set()
    for path in map(pathlib.Path, paths):
        for at in lines(path):
            key = (path.name, at.get("pid", 0), at.get("loader", 0), at.get("n", 0))
            if at["kind"] == "step":
                wait = None if at.get("wait_unknown") else at.get("wait", 0.0)
                steps[key] = [at.get("t", 0.0), at.get("period"), wait, at.get("samples"), at.get("idle"), at.get("device_period")]
            elif at["kind"] == "clock" and key in steps:
                steps[key][4:] = at.get("idle"), at.get("device_period")
            elif at["kind"] == "sample" and at.get("value") is not None:
                values.add((path.name, at["signal"], at.get("subject", ""), at.get("t", 0.0), at["value"]))
    return {(*key, *step) for key, step in steps.items()}, values


def tables(folder, recordings):
    for name in "steps", "signals":
        subprocess.run([STOKER, "export", "-o", f"{folder}/{name}.parquet", *recordings], check=True, stderr=subprocess.DEVNULL)
    return f"{folder}/steps.parquet", f"{folder}/signals.parquet"


def same(what, got, want):
    got = {tuple(None if isinstance(v, float) and math.isnan(v) else v for v in row) for row in got}
    print(f"{what}: {len(got)} rows read, {len(got & want)} of {len(want)} as in the recordings")
    return got == want


def check(folder, recordings):
    steps, values = held(recordings)
    of_steps, of_signals = tables(folder, recordings)
    names = {of_steps: "recording, pid, loader, n, t_s, period_s, wait_s, samples, device_idle_s, device_period_s", of_signals: "recording, signal, subject, t_s, value"}
    fine = True
    for file, want in (of_steps, steps), (of_signals, values):
        columns = [name.strip() for name in names[file].split(",")]
        arrow = pyarrow.parquet.read_table(file, columns=columns)
        if file == of_signals:  # the machine's and the job's own signals have no subject
            want = {(*row[:2], row[2] or None, *row[3:]) for row in want}
        fine &= same(f"DuckDB {duckdb.__version__}, {os.path.basename(file)}", duckdb.sql(f"SELECT {names[file]} FROM '{file}'").fetchall(), want)
        fine &= same(f"Arrow {pyarrow.__version__}, {os.path.basename(file)}", zip(*(arrow[c].to_pylist() for c in columns)), want)
    kinds = duckdb.sql(f"SELECT number, count, flag, text, many, unknown, epoch_us(moment) FROM '{TABLE}'").fetchall()
    arrow = pyarrow.parquet.read_table(TABLE)
    arrow = [tuple(row) for row in zip(*(arrow[c].cast("int64").to_pylist() if c == "moment" else arrow[c].to_pylist() for c in ("number", "count", "flag", "text", "many", "unknown", "moment")))]
    fine &= same(f"{TABLE.name}, DuckDB beside what is meant", kinds, meant()) & same(f"{TABLE.name}, Arrow", arrow, meant())
    return fine


def meant():
    """The table of internal/parquet/parquet_test.go, once more."""
    return {
        (
            [0.5, None, -1e300, math.inf][n % 4],
            None if n % 5 == 4 else n - 1000,
            n % 3 == 0,
            ["a", None, 'gräß\0"', "\ufffd"][n % 4],
            f"word {n % 300}",
            None,
            [1763800000250000, 0, None, -1500000][n % 4],
        )
        for n in range(1000)
    }


def timed(what, call):
    """Wall time, and core time of this process and those that it started: the machine may be shared."""
    begin, cores = time.perf_counter(), sum(os.times()[:4])
    result = call()
    print(f"{what}: {time.perf_counter() - begin:.2f} s, {sum(os.times()[:4]) - cores:.2f} s of core time", flush=True)
    return result


def bulk(folder, recordings, copies):
    """A folder of many recordings, and the queries over their tables."""
    many = pathlib.Path(folder, "many")
    many.mkdir()
    for n in range(copies):
        shutil.copy(recordings[n % len(recordings)], many / f"{n:06}.jsonl.gz")
    for name in "steps", "signals":
        timed(f"export {name} of {copies}", lambda: tables_of(name, folder, many))
    timed("runs -o", lambda: subprocess.run([STOKER, "runs", "-o", f"{folder}/runs.parquet", many], check=True, stderr=subprocess.DEVNULL))
    print("bytes of recordings", sum(f.stat().st_size for f in many.iterdir()), *(f"{n}.parquet {os.path.getsize(f'{folder}/{n}.parquet')}" for n in QUERIES))
    for name, query in QUERIES.items():
        timed(f"query of {name}", lambda: duckdb.sql(query.format(f"{folder}/{name}.parquet")).fetchall())


def tables_of(name, folder, many):
    subprocess.run([STOKER, "export", "-o", f"{folder}/{name}.parquet", many], check=True, stderr=subprocess.DEVNULL)


def bucket(folder):
    """The same queries over an S3-compatible store on loopback."""
    import boto3

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
        while True:
            try:
                s3.create_bucket(Bucket="fleet")
                break
            except Exception:
                if server.poll() is not None:
                    raise
                time.sleep(0.2)
        here = duckdb.connect()
        here.execute(f"LOAD '{httpfs()}'")
        here.execute(f"CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b', REGION 'us-east-1', ENDPOINT '127.0.0.1:{port}', URL_STYLE 'path', USE_SSL false)")
        fine = True
        for name, query in QUERIES.items():
            file = f"{folder}/{name}.parquet"
            if not os.path.exists(file):
                continue
            s3.upload_file(file, "fleet", f"tables/{name}.parquet")
            there = timed(f"query of {name} in s3://fleet", lambda: here.execute(query.format(f"s3://fleet/tables/{name}.parquet")).fetchall())
            as_here = rounded(there) == rounded(duckdb.sql(query.format(file)).fetchall())
            print(f"{name} in the bucket: {len(there)} rows, {'the same' if as_here else 'OTHERS'}")
            fine &= as_here
        return fine
    finally:
        server.terminate()
        server.wait()


def httpfs():
    """DuckDB's extension, PyPI's copy where there is one."""
    spec = importlib.util.find_spec("duckdb_extension_httpfs")
    found = spec and list(pathlib.Path(spec.origin).parent.glob("extensions/*/httpfs.duckdb_extension"))
    return found[0] if found else "httpfs"


def rounded(rows):
    """Means of many threads differ in their last digits."""
    return {tuple(f"{v:.9g}" if isinstance(v, float) else v for v in row) for row in rows}


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("recordings", nargs="+")
    parse.add_argument("--copies", type=int, default=0)
    parse.add_argument("--bucket", action="store_true")
    args = parse.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fine = check(folder, args.recordings)
        if args.copies:
            bulk(folder, args.recordings, args.copies)
        if args.bucket:
            fine &= bucket(folder)
    raise SystemExit(not fine)


if __name__ == "__main__":
    main()
