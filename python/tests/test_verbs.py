"""The client's verbs, against the real binary where it is built."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import stoker
from stoker import _verbs

CASE = os.path.join(os.path.dirname(__file__), "..", "..", "testdata", "cases", "main-thread-live", "run.jsonl")


def built():
    try:
        return os.access(stoker.find_binary(), os.X_OK)
    except stoker.StokerError:
        return False


class Verbs(unittest.TestCase):
    @unittest.skipUnless(built(), "no binary: make build")
    def test_a_recording_is_judged(self):
        answer = stoker.diagnose(CASE)
        self.assertEqual(answer["verdict"]["class"], "cpu-bound/main-thread-loader")
        self.assertEqual(stoker.advise(CASE)["plan"][0]["fix"], "num_workers")
        self.assertEqual(stoker.verify(CASE, CASE)["outcome"]["difference"], "no detectable difference")

    @unittest.skipUnless(built(), "no binary: make build")
    def test_the_binarys_own_sentence_is_raised(self):
        with tempfile.NamedTemporaryFile() as empty, self.assertRaisesRegex(stoker.StokerError, "the file is empty"):
            stoker.diagnose(empty.name)

    @unittest.skipUnless(built(), "no binary: make build")
    def test_a_job_is_predicted(self):
        job = {"gpu": "h100-sxm", "model": "resnet50", "workers": 8, "cores": 16, "storage": "nvme"}
        answer = stoker.predict(batch=256, sample=110e3, prepare=0.002, pinned=True, inference=False, tokens=None, for_="90%", **job)
        self.assertGreater(answer["prediction"]["utilization"]["point"], 0)
        self.assertEqual(answer["sizing"]["target"], 0.9)
        self.assertIn({"name": "sample", "value": "110 KB", "source": "given"}, answer["inputs"])
        anchored = stoker.predict(model="resnet50", gpu="h100-sxm", batch=512, measured="2,470 samples/s at batch 256 on a100-80gb-sxm")
        self.assertIn("measured", [given["name"] for given in anchored["inputs"]])
        self.assertTrue(any("measured: 2,470" in stage["source"] for stage in anchored["stages"]))
        sweep = stoker.predict(batch="32..128", sample=[100e3, 200e3], **job)["sweep"]
        self.assertEqual([axis["name"] for axis in sweep["axes"]], ["batch", "sample"])
        self.assertEqual(len(sweep["points"]), 6)
        self.assertEqual(sweep["axes"][1]["values"], [100e3, 200e3])

    @unittest.skipUnless(built(), "no binary: make build")
    def test_the_kind_of_a_gpu_is_assumed_and_named(self):
        inputs = {row["name"]: row for row in stoker.predict(gpu="h100", model="resnet50", batch=256)["inputs"]}
        self.assertEqual((inputs["kind of GPU"]["value"], inputs["kind of GPU"]["source"]), ("h100-sxm", "assumed, --gpu names another"))

    def test_what_cannot_be_predicted_is_said(self):
        with self.assertRaisesRegex(stoker.StokerError, "nearest: rtx-3090, rtx-4090"):
            stoker.predict(gpu="rtx", model="resnet50", batch=256)
        with self.assertRaisesRegex(stoker.StokerError, "unknown flag"):
            stoker.predict(nonsense=1)

    @unittest.skipIf(os.geteuid(), "needs root to make files of others")
    def test_a_binary_that_another_user_put_beside_is_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o1777)  # as /tmp
            shutil.copytree(os.path.dirname(stoker.__file__), os.path.join(folder, "a", "stoker"))
            binary = os.path.join(folder, "bin", "stoker")
            os.mkdir(os.path.dirname(binary))
            with open(binary, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(binary, 0o755)
            look = "import sys; sys.path.insert(0, sys.argv[1]); import stoker; print(stoker.find_binary())"
            environment = {"PATH": "", "HOME": folder}
            for of, found in (((0, 0), True), ((0, 4711), False), ((4711, 0), False)):
                os.chown(os.path.dirname(binary), of[0], -1)
                os.chown(binary, of[1], -1)
                done = subprocess.run([sys.executable, "-c", look, os.path.join(folder, "a")], env=environment, capture_output=True, text=True)
                self.assertEqual((done.stdout == binary + "\n", "no stoker binary" in done.stderr), (found, not found), (of, done))

    def test_one_thread_at_a_time_asks_for_paths(self):
        asked, together = threading.Semaphore(1), []

        def get_path(*_):
            together.append(not asked.acquire(blocking=False))
            time.sleep(0.001)  # others come meanwhile, if they can
            if not together[-1]:
                asked.release()
            return ""

        threads = [threading.Thread(target=_verbs._script_paths) for _ in range(8)]
        with mock.patch("sysconfig.get_path", get_path):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(together, [False] * 16)

    def test_a_missing_binary_is_named(self):
        before = os.environ.get("STOKER_BIN")
        os.environ["STOKER_BIN"] = "/nonexistent/stoker"
        try:
            with self.assertRaisesRegex(stoker.StokerError, "/nonexistent/stoker"):
                stoker.diagnose(CASE)
        finally:
            if before is None:
                del os.environ["STOKER_BIN"]
            else:
                os.environ["STOKER_BIN"] = before


if __name__ == "__main__":
    unittest.main()
