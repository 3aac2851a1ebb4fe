"""The client's verbs, against the real binary where it is built."""

import os
import tempfile
import unittest

import stoker

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
