"""The emulated device keeps the arithmetic of a CUDA queue (see ../stoker/emulated.py)."""

import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from contextlib import redirect_stderr
from io import StringIO
from unittest import mock

import leash

from stoker import emulated
from stoker.emulated import Device

# Seconds a batch takes to load, the host to issue a step, and the device to compute it.
LOAD, ISSUE, STEP = 0.040, 0.010, 0.060


class Clock:
    """A clock that only waiting moves, in place of CLOCK_MONOTONIC: a loaded machine cannot blur what is tested."""

    def __init__(self):
        self.now_ns = 10**12

    def __call__(self):
        return self.now_ns

    def wait(self, until_ns, _spin):
        self.now_ns = max(self.now_ns, until_ns)

    def hold(self, seconds):
        """Keep the host busy that long."""
        self.now_ns += round(seconds * 1e9)

    def seconds(self):
        return self.now_ns / 1e9


class Arithmetic(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        for name, to in (("monotonic_ns", self.clock), ("_wait", self.clock.wait)):
            patch = mock.patch.object(emulated, name, to)
            patch.start()
            self.addCleanup(patch.stop)

    def train(self, device, steps, each=lambda: None):
        """Run a loop without workers; return the host's wait share and the device's idle share when steady."""
        for step in range(steps):
            if step == 5:  # the pipe is full
                wait, begin = 0, self.clock.seconds()
            asked = self.clock.seconds()
            self.clock.hold(LOAD)
            if step >= 5:
                wait += self.clock.seconds() - asked
            self.clock.hold(ISSUE)
            device.launch(STEP)
            each()
        span = self.clock.seconds() - begin
        return wait / span, device.idle_between(begin, self.clock.seconds()) / span

    def test_host_wait_is_not_starvation_with_long_run_ahead(self):
        wait, idle = self.train(Device(), 100)
        self.assertAlmostEqual(wait, 0.80)
        self.assertEqual(idle, 0)

    def test_host_wait_is_not_starvation_with_short_run_ahead(self):
        wait, idle = self.train(Device(run_ahead=2), 100)
        self.assertAlmostEqual(wait, 2 / 3, delta=0.01)
        self.assertEqual(idle, 0)

    def test_item_in_every_step_makes_the_same_wait_idle(self):
        device = Device()
        wait, idle = self.train(device, 100, device.item)
        # Each step lasts load + issue + compute, and the device works in the last part only.
        self.assertAlmostEqual(idle, (LOAD + ISSUE) / (LOAD + ISSUE + STEP))
        self.assertAlmostEqual(wait, LOAD / (LOAD + ISSUE + STEP))
        self.assertIsInstance(device.item(), float)

    def test_events_around_a_wait_give_the_idle_time_it_caused(self):
        device = Device()
        device.launch(0.005)
        asked = device.event()
        self.clock.hold(0.015)
        got = device.event()
        self.assertEqual(asked.elapsed(got), 0.010)
        self.assertTrue(got.query())

        device.launch(0.050)
        asked = device.event()
        self.clock.hold(0.015)
        got = device.event()
        self.assertEqual(asked.elapsed(got), 0, "queued work covers the wait")
        self.assertFalse(got.query())
        got.synchronize()
        self.assertTrue(got.query())

    def test_pageable_copies_block_and_pinned_ones_do_not(self):
        for pinned, non_blocking, blocks in (
            (False, None, True),
            (False, True, True),
            (True, None, False),
            (True, True, False),
            (True, False, True),
        ):
            with self.subTest(pinned=pinned, non_blocking=non_blocking):
                device = Device()
                device.launch(0.005)
                asked = self.clock.seconds()
                device.copy(100_000_000, pinned, non_blocking)
                took = self.clock.seconds() - asked
                link = 100_000_000 / (25e9 if pinned else 10e9)
                self.assertAlmostEqual(took, 0.005 + link if blocks else 0)
                start, end, kind, _ = device.busy()[-1]
                self.assertAlmostEqual(end - start, link)
                self.assertEqual(kind, "copy")

    def test_launch_blocks_until_one_of_run_ahead_is_done(self):
        device = Device(run_ahead=3)
        begin = self.clock.seconds()
        for blocked in (0, 0, 0, 0.010, 0.020):
            device.launch(0.010)
            self.assertAlmostEqual(self.clock.seconds() - begin, blocked)
        device.synchronize()
        self.assertAlmostEqual(self.clock.seconds() - begin, 0.050)

    def test_idle_between_counts_any_part(self):
        device = Device()
        t = self.clock.seconds()
        device.launch(1)
        self.clock.hold(3)
        device.launch(1)
        self.clock.hold(3)
        for t0, t1, idle in ((-1, 0, 1), (0, 1, 0), (0, 3, 2), (0.5, 3.5, 2), (0, 6, 4), (-1, 9, 8), (3.25, 3.75, 0)):
            self.assertAlmostEqual(device.idle_between(t + t0, t + t1), idle, msg=(t0, t1))


class Queue(unittest.TestCase):
    def test_spinning_burns_cpu_and_sleeping_does_not(self):
        clock = Clock()

        def burn(_):
            clock.hold(20e-6)
            burnt.append(1)

        for spin in (True, False):
            slept, burnt = [], []
            with (
                self.subTest(spin=spin),
                mock.patch.object(emulated, "monotonic_ns", lambda: clock.hold(1e-7) or clock()),
                mock.patch.object(emulated.time, "sleep", lambda seconds: slept.append(clock.hold(seconds))),
                mock.patch.object(emulated.zlib, "crc32", burn),
            ):
                device = Device()
                device.launch(0.060)
                device.synchronize(spin)
                self.assertTrue(device.event().query())
                self.assertEqual((len(slept) > 0, len(burnt) > 1000), (not spin, spin))

    def test_spinning_leaves_the_interpreter_to_other_threads(self):
        turns, looks, stop = [0], [0], threading.Event()

        def work():
            while not stop.is_set():
                turns[0] += 1
                time.sleep(0.0001)

        def clock():  # the work is done once the other thread had its turns; without one it is over some day
            looks[0] += 1
            return now if turns[0] < 100 and looks[0] < 1_000_000 else now + 10**9

        now, device = time.monotonic_ns(), Device()
        thread = threading.Thread(target=work)
        before = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, before)
        with mock.patch.object(emulated, "monotonic_ns", clock):
            device.launch(0.1)
            thread.start()
            sys.setswitchinterval(1000)  # whoever has the lock keeps it, unless he lets go of it himself
            device.synchronize(True)
            sys.setswitchinterval(before)
        stop.set()
        thread.join()
        self.assertGreaterEqual(turns[0], 100)

    def test_busy_is_in_order_and_named(self):
        device, now = Device(), time.monotonic_ns()
        with mock.patch.object(emulated, "monotonic_ns", lambda: now):  # all at once, however busy the machine is
            device.launch(0.001, "a")
            device.copy(25_000, pinned=True)
            device.launch(0.002, "b")
        device.synchronize()
        found = device.busy()
        self.assertEqual(
            [(kind, name[:6]) for _, _, kind, name in found], [("kernel", "a"), ("copy", "Memcpy"), ("kernel", "b")]
        )
        for before, after in zip(found, found[1:]):
            self.assertEqual(before[1], after[0])

    def test_threads_share_a_device(self):
        device = Device(run_ahead=10)
        threads = [threading.Thread(target=lambda: [device.launch(1e-5) for _ in range(200)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        busy = device.busy()
        self.assertEqual(len(busy), 800)
        self.assertTrue(all(a[1] <= b[0] for a, b in zip(busy, busy[1:])))
        self.assertIn(device.launch_thread, [thread.native_id for thread in threads])

    def test_memory_of_the_log_is_bounded(self):
        with mock.patch.object(emulated._Log, "LIMIT", 100):
            device = Device(run_ahead=10_000)
            for i in range(250):
                device.launch(1e-6, f"kernel{i}")
            names = [name for _, _, _, name in device.busy()]
        self.assertEqual(names, [f"kernel{i}" for i in range(150, 250)])

    def test_current_creates_none(self):
        self.assertNotIn(None, emulated.current())
        before = len(emulated.current())
        device = Device(3)
        self.assertEqual(len(Device.current()), before + 1)
        self.assertIs(emulated.current()[-1], device)

    def test_arguments(self):
        for call in (
            lambda: Device(chip="b200"),
            lambda: Device(-1),
            lambda: Device(run_ahead=0),
            lambda: Device().launch(-1),
        ):
            self.assertRaises(ValueError, call)


class Page(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "page")

    def run_python(self, code):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from stoker import emulated\nfrom stoker.emulated import Device\nimport os, time\n" + code,
            ],
            env={**os.environ, "STOKER_EMULATED_PAGE": self.path},
            capture_output=True,
            text=True,
            timeout=leash.PATIENCE,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def page(self):
        with open(self.path, "rb") as file:
            return file.read()

    def written(self, index=0):
        return struct.unpack_from("@Q", self.page(), 1024 + 256 * index + 160)[0]

    def test_layout(self):
        done = self.run_python(
            "d = Device(1, 'h200', memory_used=7)\nd.launch(0.5)\nd.copy(53, pinned=True)\nprint(os.getpid())"
        )
        self.assertEqual(done.stderr, "")
        page = self.page()
        self.assertEqual(len(page), 12_587_008)
        self.assertEqual(page[:16], struct.pack("@8sII", b"STKEMUL1", 1, 2))
        record = struct.unpack_from("@64s64sIIIIQQQQI", page, 1024 + 256)
        self.assertEqual(record[0].rstrip(b"\0"), b"NVIDIA H200")
        self.assertEqual(record[2:9], (int(done.stdout), 1980, 75_000, 700_000, 143771 << 20, 7, 2))
        (start, end, kind, _), (next_start, next_end, next_kind, _) = struct.iter_unpack(
            "@QQII", page[4096 + 1572864 :][:48]
        )
        self.assertEqual((end - start, kind), (500_000_000, 1))
        self.assertEqual((next_start, next_end - next_start, next_kind), (end, 1, 2))

    def test_a_forked_child_does_not_write_the_parents_page(self):
        self.run_python(
            "d = Device()\nd.launch(1e-6)\npid = os.fork()\n"
            "if not pid:\n  assert emulated.current() == []\n  d.launch(1e-6)\n  d.synchronize()\n  Device(0).launch(1e-6)\n  os._exit(0)\n"
            "assert os.waitpid(pid, 0)[1] == 0\nassert emulated.current() == [d]"
        )
        self.assertEqual(self.written(), 1)

    def test_ranks_share_a_page_and_a_living_rank_keeps_its_device(self):
        self.run_python(
            "d = Device()\nd.launch(1e-6)\nimport subprocess, sys\n"
            "for i in 0, 1:\n"
            "  out = subprocess.run([sys.executable, '-c', f'from stoker.emulated import Device; Device({i}).launch(1)'], capture_output=True)\n"
            "  assert (b'belongs to process' in out.stderr) == (i == 0), out.stderr"
        )
        self.assertEqual((self.written(0), self.written(1)), (1, 1))

    def test_ring_wraps(self):
        self.run_python("d = Device(run_ahead=10**6)\nfor i in range(65_540):\n  d.launch(0)")
        self.assertEqual(self.written(), 65_540)

    def test_another_file_stays_untouched(self):
        with open(self.path, "wb") as file:
            file.write(b"precious")
        done = self.run_python("Device().launch(1)")
        self.assertIn("is off: not an emulated page", done.stderr)
        self.assertEqual(self.page(), b"precious")

    def test_a_full_disk_is_a_warning(self):
        warning = StringIO()
        with mock.patch.dict(os.environ, STOKER_EMULATED_PAGE=self.path), redirect_stderr(warning):
            with mock.patch.object(emulated, "_process", emulated._Process()):
                with mock.patch.object(os, "posix_fallocate", side_effect=OSError(28, "No space left on device")):
                    Device().launch(1)
                    Device(1).launch(1)
        self.assertEqual(warning.getvalue().count("No space left on device"), 1)


    @unittest.skipIf(os.geteuid(), "needs root to make files of others")
    def test_a_page_of_another_user(self):
        open(self.path, "w").close()
        os.chown(self.path, 4711, -1)
        done = self.run_python("Device().launch(1)")
        self.assertIn("it belongs to another user", done.stderr)
        self.assertEqual(self.page(), b"")


class Trace(unittest.TestCase):
    def trace(self, suffix):
        """Profile a little, by hand where torch is absent, and return the file's events afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json" + suffix)
            device = Device()
            device.launch(0.001, "before")
            begin = time.time_ns()
            time.sleep(0.002)
            device.copy(25_000, pinned=True)
            device.launch(0.003, "inside")
            device.item()
            end = time.time_ns()
            device.launch(0.001, "after")
            base = begin // 10**15 * 10**15
            row = {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::mm",
                "pid": 1,
                "tid": 1,
                "ts": (begin - base) / 1000,
                "dur": (end - begin) / 1000,
            }
            with (gzip.open if suffix else open)(path, "wt") as file:
                json.dump({"baseTimeNanoseconds": base, "deviceProperties": [], "traceEvents": [row]}, file)
            device.trace(path)
            with (gzip.open if suffix else open)(path, "rt") as file:
                document = json.load(file)
            self.assertEqual(os.listdir(folder), ["trace.json" + suffix])
        return document

    def test_adds_calls_and_work_of_the_profiled_time(self):
        for suffix in "", ".gz":
            document = self.trace(suffix)
            rows = [e for e in document["traceEvents"] if e["ph"] == "X" and e["name"] != "aten::mm"]
            self.assertEqual(
                [(e["cat"], e["name"][:16]) for e in rows],
                [
                    ("cuda_runtime", "cudaMemcpyAsync"),
                    ("gpu_memcpy", "Memcpy HtoD (Pin"),
                    ("cuda_runtime", "cudaLaunchKernel"),
                    ("kernel", "inside"),
                    ("cuda_runtime", "cudaStreamSynchr"),
                ],
            )
            self.assertEqual([e["args"]["correlation"] for e in rows], [1, 1, 2, 2, 3])
            self.assertTrue(all(e["args"]["emulated"] for e in rows))
            self.assertTrue(document["deviceProperties"][0]["emulated"])
            kernel, sync = rows[3], rows[4]
            self.assertGreaterEqual(sync["ts"] + sync["dur"] + 1, kernel["ts"] + kernel["dur"])
            self.assertEqual(rows[1]["args"]["bytes"], 25_000)

    def test_refuses_another_json_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.json")
            with open(path, "w") as file:
                file.write("[1]")
            self.assertRaises(ValueError, Device().trace, path)
            self.assertEqual(os.listdir(folder), ["x.json"])

    def test_agrees_with_the_clock_of_torch(self):
        try:
            from torch.profiler import ProfilerActivity, profile, record_function
        except ImportError:
            self.skipTest("torch is not installed")
        device = Device()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            with profile(activities=[ProfilerActivity.CPU]) as profiler:
                for _ in range(3):
                    with record_function("around"):
                        device.launch(0.001)
                        device.synchronize()
            profiler.export_chrome_trace(path)
            device.trace(path)
            with open(path) as file:
                events = json.load(file)["traceEvents"]
        spans = [e for e in events if e["name"] == "around" and e["ph"] == "X"]
        launches = [e for e in events if e["name"] == "cudaLaunchKernel"]
        self.assertEqual(len(launches), 3)
        for span, launch in zip(spans, launches):
            slack = 1000  # microseconds between two clocks' conversions
            self.assertGreaterEqual(launch["ts"], span["ts"] - slack)
            self.assertLessEqual(launch["ts"], span["ts"] + span["dur"] + slack)
            self.assertEqual(launch["tid"], span["tid"])


if __name__ == "__main__":
    unittest.main()
