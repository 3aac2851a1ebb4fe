"""The loader without torch, against a daemon in Python (feed_fake.py)."""

import contextlib
import copy
import errno
import gc
import glob
import importlib.metadata
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from unittest import mock

try:
    import numpy as np
except ImportError:
    np = None

from feed_fixture import FeedCase, children
from private_folder import private_folder

import stoker

OPS = [{"op": "center_crop", "size": [4, 6]}, {"op": "pil_to_tensor"}]

# One rank of several.
RANK = f"""
import json, sys, stoker
with stoker.Loader(sys.argv[1], {OPS}, batch_size=8, shuffle=True, seed=3, tail="short") as loader:
    found = [batch.indices.tolist() for batch in loader]
with open(sys.argv[2], "w") as file:
    json.dump(found, file)
"""


class ImportTest(unittest.TestCase):
    def test_needs_nothing(self):
        code = "import sys, stoker; sys.exit(bool({'numpy', 'torch', 'socket'} & set(sys.modules)))"
        self.assertEqual(os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]), 0)

    def test_unknown_name(self):
        with self.assertRaises(AttributeError):
            _ = stoker.Loadr


@unittest.skipIf(np is None, "needs NumPy")
@unittest.skipUnless(sys.platform == "linux", "needs Linux")
class LastWordsTest(unittest.TestCase):
    """What is told of a daemon that ended."""

    def said(self, text):
        log = os.memfd_create("words")
        self.addCleanup(os.close, log)
        os.write(log, text.encode())
        from stoker.daemon import session as _feed  # which needs numpy

        return _feed.read_last_words(log)

    def test_the_reason_is_told_not_the_end_of_the_stacks(self):
        stacks = "".join(f"\tmain.f{i}()\n\t/src/x.go:{i}\n" for i in range(3000))
        told = self.said(f"stoker: reading\npanic: index out of range [3]\n\ngoroutine 1 [running]:\n{stacks}exit status 2\n")
        self.assertIn("panic: index out of range [3] | goroutine 1 [running]:", told)
        self.assertNotIn("exit status", told)
        self.assertIn("fatal error: out of memory", self.said(f"runtime: out of memory\nfatal error: out of memory\n{stacks}"))

    def test_without_a_reason_the_last_lines_are_told(self):
        self.assertEqual(self.said("".join(f"line {i}\n" for i in range(9))), ", it said: line 4 | line 5 | line 6 | line 7 | line 8")
        self.assertEqual(self.said("\n"), "")


@unittest.skipIf(np is None, "needs NumPy")
@unittest.skipUnless(sys.platform == "linux", "needs Linux")
class LoaderTest(FeedCase):
    def loader(self, **settings):
        self.root = self.images()
        settings = {"batch_size": 8, "shuffle": True, **settings}
        loader = stoker.Loader(self.root, OPS, **settings)
        self.addCleanup(loader.close)
        return loader

    def setUp(self):
        super().setUp()
        self.enterContext(warnings.catch_warnings())
        warnings.filterwarnings("ignore", "3 batches are kept", stoker.StokerWarning)

    def sent(self, kind):
        with open(self.log) as log:
            return [packet for packet in map(json.loads, log) if packet["type"] == kind]

    def assertWhole(self, batches):
        self.assertEqual(sorted(np.concatenate([batch.indices for batch in batches])), list(range(42)))
        for batch in batches:
            np.testing.assert_array_equal(batch.images, np.broadcast_to((batch.indices % 251)[:, None, None, None], (len(batch.indices), 3, 4, 6)))
            np.testing.assert_array_equal(batch.labels, batch.indices // 21)

    def test_every_sample_once(self):
        loader = self.loader()
        self.assertEqual(len(loader), 6)
        self.assertEqual(loader.classes, ["cat", "dog"])
        for _ in range(3):
            seen = []
            for images, labels in loader:
                self.assertEqual((images.dtype, labels.dtype), (np.uint8, np.int64))
                seen.append(images[:, 0, 0, 0].tolist())
            self.assertEqual(list(map(len, seen)), [8] * 5 + [2])
            self.assertEqual(sorted(sum(seen, [])), list(range(42)))
        self.assertEqual((loader.report["epoch"], loader.report["exactly_once"]), (2, True))
        iteration = iter(loader)
        for _ in range(len(loader)):  # as trainers do that count
            next(iteration)
        self.assertEqual(loader.report["epoch"], 3)
        self.assertEqual(sum(len(batch.images) for batch in loader), 42)
        self.assertEqual(len(self.sent("start")), 1)

    def test_no_start_between_epochs(self):
        loader = self.loader()
        for _ in range(3):
            for _ in loader:
                pass
        loader.set_epoch(3)
        for _ in loader:
            pass
        self.assertEqual([(packet["epoch"], packet["consumed"]) for packet in self.sent("start")], [(0, 0)])

    def test_waits_are_told(self):
        loader = self.loader()
        for _ in loader:
            pass
        self.assertSoon(lambda: len(self.sent("release")) == 6)
        self.assertTrue(all(packet["waited"] >= 0 for packet in self.sent("release")))

    def test_zero_copy(self):
        batch = next(iter(self.loader()))
        self.assertFalse(batch.images.flags.owndata)
        with open("/proc/self/maps") as maps:
            rings = [[int(side, 16) for side in line.split()[0].split("-")] for line in maps if "memfd:ring" in line]
        address = batch.images.ctypes.data
        self.assertTrue(any(low <= address < high for low, high in rings))
        batch.images[:] = 7  # the consumer's own

    def test_slot_returns_with_its_last_view(self):
        loader = self.loader()
        iteration = iter(loader)
        batch = next(iteration)
        session = loader._feeder._session
        row = batch.images[3].reshape(-1)[5:9]
        del batch
        gc.collect()
        self.assertEqual(session.loans.count_held(), 1)
        self.assertEqual(row.tolist(), [row[0]] * 4)
        del row
        self.assertEqual(session.loans.count_held(), 0)

    def test_batches_outlive_the_loader(self):
        loader = self.loader()
        batch = next(iter(loader))
        before = batch.images.copy()
        loader.close()
        del loader
        gc.collect()
        np.testing.assert_array_equal(batch.images, before)

    def test_list_of_a_loader(self):
        loader = self.loader(depth=4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            batches = list(loader)
            self.assertWhole(batches)
        self.assertEqual(len(caught), 1)
        self.assertIs(caught[0].category, stoker.StokerWarning)
        self.assertIn("3 batches are kept", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)
        self.assertIsNone(loader.report)  # of what is still held
        kept = batches.pop()
        del batches
        self.assertEqual(loader.report["epoch"], 0)
        self.assertEqual(len(kept.images), 2)

    def test_dlpack(self):
        batch = next(iter(self.loader()))
        other = np.from_dlpack(batch.images)
        self.assertEqual(other.ctypes.data, batch.images.ctypes.data)

    def test_channels_last(self):
        batch = next(iter(self.loader(channels_last=True)))
        self.assertEqual(batch.images.shape, (8, 3, 4, 6))
        self.assertTrue(batch.images.transpose(0, 2, 3, 1).flags.c_contiguous)

    def test_dtypes(self):
        for dtype, expected in (("float32", np.float32), ("float16", np.float16), ("bfloat16", np.uint16)):
            root = self.images()
            with stoker.Loader(root, [OPS[0], {"op": "to_tensor"}], batch_size=4, dtype=dtype) as loader:
                self.assertEqual(next(iter(loader)).images.dtype, expected)
        with self.assertRaisesRegex(ValueError, "dtype 'float32'"):
            stoker.Loader(root, OPS, dtype="float32")

    def test_state(self):
        loader = self.loader()
        iteration = iter(loader)
        next(iteration)
        next(iteration)
        time.sleep(0.05)  # what is prefetched now is not consumed
        state = json.loads(json.dumps(loader.state_dict()))
        self.assertLessEqual(len(json.dumps(state)), 200)
        self.assertEqual((state["epoch"], state["consumed"]), (0, 16))
        rest = [batch.indices.tolist() for batch in iteration]
        for again in (loader, self.loader(seed=99), self.loader(batch_size=16)):
            again.load_state_dict(state)
            found = [batch.indices.tolist() for batch in again]
            self.assertEqual(sum(found, []), sum(rest, []))
        loader.load_state_dict(state)
        loader.set_epoch(0)  # as trainers say it: the epoch under way, not from its beginning
        self.assertEqual([batch.indices.tolist() for batch in loader], rest)
        self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["consumed"]), (1, 0))

    def test_state_of_a_finished_epoch(self):
        loader = self.loader()
        iteration = iter(loader)
        for _ in range(6):
            next(iteration)
        state = loader.state_dict()
        other = self.loader()
        other.load_state_dict(state)
        self.assertEqual(list(other), [])
        self.assertWhole(list(other))
        self.assertEqual(other.state_dict()["epoch"], 2)

    def test_state_of_other_samples(self):
        loader = self.loader()
        state = {**loader.state_dict(), "manifest": "0" * 32}
        with self.assertRaisesRegex(stoker.StokerError, "the state belongs to other samples"):
            loader.load_state_dict(state)
        fresh = self.loader()
        fresh.load_state_dict(state)
        with self.assertRaisesRegex(stoker.StokerError, "the state belongs to other samples"):
            iter(fresh)

    def test_states_that_cannot_be(self):
        loader = self.loader()
        state = loader.state_dict()
        for wrong, sentence in (
            ({}, "expected a dict with the fields"),
            ({"epoch": 3}, "expected a dict with the fields"),
            ([], "expected a dict with the fields"),
            ({**state, "step": 3}, "expected a dict with the fields"),
            ({**state, "format": 3}, "has format 3, this stoker reads format 2"),
            ({**state, "format": "1"}, "has format '1'"),
            ({**state, "epoch": -1}, "'epoch' of the state is -1: a whole number from 0 to 4294967295 is expected"),
            ({**state, "epoch": 1 << 32}, "'epoch'"),
            ({**state, "epoch": True}, "'epoch'"),
            ({**state, "seed": 1.0}, "'seed'"),
            ({**state, "seed": 1 << 64}, "'seed'"),
            ({**state, "consumed": None}, "'consumed'"),
            ({**state, "consumed": (1 << 40) + 1}, "'consumed'"),
            ({**state, "bad": -1}, "'bad'"),
            ({**state, "consumed": 43}, "43 samples were consumed, but an epoch has 42: it is damaged"),
            ({**state, "manifest": 7}, "'manifest' of the state is 7: 32 hexadecimal digits"),
            ({**state, "pipeline": "AB" * 16}, "'pipeline'"),
            ({**state, "pipeline": "ab" * 15}, "'pipeline'"),
        ):
            with self.assertRaisesRegex(stoker.StokerError, re.escape(sentence), msg=str(wrong)):
                loader.load_state_dict(wrong)
        self.assertWhole(list(loader))  # none of them left a trace
        older = {**{name: value for name, value in state.items() if name != "bad"}, "format": 1}
        loader.load_state_dict(older)
        self.assertEqual(loader.state_dict(), state)

    def test_pillow_of_the_spec(self):
        version = "stoker.loader.batches.importlib.metadata.version"
        for installed, expected in (("12.3.0", {"pillow": 12}), ("13.0.0.dev1", {"pillow": 13}), ("unknown", {})):
            with mock.patch(version, return_value=installed):
                output = self.loader()._feeder.spec["output"]
            self.assertEqual(output, {"dtype": "uint8", "layout": "nchw", **expected})
        with mock.patch(version, side_effect=importlib.metadata.PackageNotFoundError):
            self.assertNotIn("pillow", self.loader()._feeder.spec["output"])

    def test_batch_held_at_exit(self):
        code = "import sys, stoker\nloader = stoker.Loader(sys.argv[1], %r, batch_size=8)\niteration = iter(loader)\nheld, other = next(iteration), next(iteration)" % OPS
        place = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code, self.images()], env=place, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_copies_of_a_loader(self):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "make one there"):
                way(self.loader())

    def test_skip(self):
        loader = self.loader(shuffle=False)
        loader.skip(4)
        self.assertEqual(next(iter(loader)).indices[0], 32)
        iteration = iter(loader)
        next(iteration)
        loader.skip(2)
        self.assertEqual(next(iteration).indices[0], 24)
        loader.skip(9)
        self.assertEqual(list(iteration), [])
        self.assertWhole(list(loader))

    def test_leaving_an_epoch(self):
        loader = self.loader(shuffle=False)
        for number, batch in enumerate(loader):
            if number == 1:
                break
        self.assertWhole(list(loader))
        self.assertEqual([packet["epoch"] for packet in self.sent("start")], [0, 1])
        self.assertEqual(batch.indices[0], 8)

    def test_iterations_that_take_nothing(self):
        loader = self.loader(shuffle=False)
        iter(loader)
        loader.set_epoch(0)
        self.assertWhole(list(loader))
        iter(loader)
        iter(loader)
        self.assertEqual(loader.state_dict()["epoch"], 1)
        self.assertEqual(next(iter(loader)).epoch, 1)
        self.assertEqual(len(self.sent("start")), 1)

    def test_newer_iteration_ends_the_older(self):
        loader = self.loader()
        older = iter(loader)
        next(older)
        newer = iter(loader)
        with self.assertRaisesRegex(stoker.StokerError, "newer one has begun"):
            next(older)
        next(newer)
        loader.close()
        with self.assertRaisesRegex(stoker.StokerError, "was closed"):
            next(newer)

    def test_tails(self):
        sizes = {tail: [len(batch.images) for batch in self.loader(tail=tail)] for tail in ("drop", "pad", "short")}
        self.assertEqual(sizes, {"drop": [8] * 5, "pad": [8] * 6, "short": [8] * 5 + [2]})
        last = list(self.loader(tail="pad"))[-1]
        self.assertEqual(last.mask.tolist(), [True] * 2 + [False] * 6)

    def test_two_loaders_share_a_daemon(self):
        one, two = self.loader(), self.loader()
        before = len(children())
        pairs = list(zip(map(lambda b: b.indices.tolist(), one), map(lambda b: b.indices.tolist(), two)))
        self.assertEqual(len(pairs), 6)
        self.assertEqual(len(children()) - before, 1)
        self.assertEqual(len(self.sent("open")), 2)
        names = {packet["spec"]["name"] for packet in self.sent("open")}
        self.assertEqual(len(names), 2)
        one.close()
        self.assertEqual(len(list(two)), 6)
        two.close()
        one = two = None
        gc.collect()
        self.assertSoon(lambda: len(children()) == before)

    def test_loader_that_is_dropped(self):
        before = children()
        for _ in stoker.Loader(self.images(), OPS, batch_size=8):  # kept alive by its iteration
            pass
        gc.collect()
        self.assertSoon(lambda: children() == before)

    def test_bad_samples_are_named(self):
        self.environment(FEED_FAKE="bad=7")
        loader = self.loader()
        with self.assertWarnsRegex(stoker.StokerWarning, "0007.jpg: it is torn"):
            for _ in loader:
                pass
        self.assertEqual([bad["index"] for bad in loader.report["bad_samples"]], [7])

    def test_fatal_error(self):
        self.environment(FEED_FAKE="fail-at=2")
        with self.assertRaisesRegex(stoker.StokerError, r"sample 7 is bad \(take it away\)"):
            for _ in self.loader():
                pass
        with self.assertRaisesRegex(stoker.StokerError, "no images"):
            empty = os.path.join(self.folder, "empty")
            os.mkdir(empty)
            len(stoker.Loader(empty, OPS))

    def said(self, run):
        """What a run says on stderr."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            run()
        return said.getvalue()

    def training(self, kill=lambda when: None, **settings):
        """All that a training of three epochs sees of its loader; kill is called at each moment of it."""
        loader = self.loader(depth=3, **settings)
        kill("before")
        seen = []
        for epoch in range(3):
            for number, batch in enumerate(loader):
                seen.append((batch.indices.tolist(), batch.images.tolist(), batch.labels.tolist(), batch.mask.tolist()))
                del batch
                kill((epoch, number))
                seen.append(loader.state_dict())
            kill((epoch, "end"))
            # A batch is copied if the trainer still holds too many when it comes: that is the machine's pace, no sample's.
            seen.append({name: value for name, value in loader.report.items() if name != "copies"})
            loader.load_state_dict(loader.state_dict())
            kill((epoch, "loaded"))
        loader.close()
        return seen

    def kill(self, number=signal.SIGKILL):
        for pid in children():
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # one of the loader before, seen off meanwhile
                os.kill(pid, number)
                if number != signal.SIGSTOP:
                    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    def test_death_of_the_daemon(self):
        """The training sees what it does without: batches, order, states and reports, wherever the daemon dies."""
        plain = self.training()
        self.environment(FEED_FAKE="die-at=3 words=hello young=1")
        said = self.said(lambda: self.assertEqual(self.training(), plain))
        self.assertRegex(said, r"^stoker: feed: stoker feed has ended, it said: .*the fake dies as it was told to: another daemon goes on at sample 24 of epoch 0\n$")
        self.environment(FEED_FAKE="")
        moments = ["before", *((epoch, when) for epoch in (0, 1, 2) for when in (0, 3, 4, 5, "end", "loaded"))]
        for at in moments:
            with self.subTest(at=at):
                number = signal.SIGTERM if at[1:] == (3,) else signal.SIGKILL
                said = self.said(lambda: self.assertEqual(self.training(lambda when: when == at and self.kill(number)), plain))
                self.assertLessEqual(said.count("another daemon goes on"), 1)
        for times in (2, 5):  # in an iteration
            self.said(lambda: self.assertEqual(self.training(lambda when: when in [(1, n) for n in range(times)] and self.kill()), plain))

    def test_daemon_that_lacks_something(self):
        """A batch that this daemon cannot make, by an outage or its own fault, is another one's: no sample is to blame."""
        plain = self.training()
        for kind in ("outage", "fault"):
            for mark in glob.glob(self.log + ".young"):
                os.unlink(mark)
            self.environment(FEED_FAKE=f"fail-at=2 kind={kind} young=1")
            said = self.said(lambda: self.assertEqual(self.training(), plain))
            self.assertRegex(said, r"^stoker: feed: sample 7 is bad \(take it away\): another daemon goes on at sample 16 of epoch 0\n$")

    def test_binary_is_removed(self):
        plain = self.training()
        binary = os.environ["STOKER_BIN"]
        self.said(lambda: self.assertEqual(self.training(lambda when: when == (0, 1) and (os.path.exists(binary) and os.unlink(binary), self.kill())), plain))

    def test_no_daemon_can_be_started(self):
        """Where the daemon died there is perhaps no memory for another process, for a while."""
        plain, popen = self.training(), subprocess.Popen

        def scarce(*arguments, **more):
            if next(failures, None) is not None:
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            return popen(*arguments, **more)

        for times in (1, 3):
            failures = iter(())
            with mock.patch.object(subprocess, "Popen", scarce):

                def hit(when):
                    nonlocal failures
                    if when == (0, 1):
                        self.kill()
                        failures = iter(range(times))

                said = self.said(lambda: self.assertEqual(self.training(hit), plain))
            self.assertEqual((said.count("another daemon goes on"), next(failures, None)), (1, None))

    def test_a_daemon_that_dies_for_ever(self):
        self.environment(FEED_FAKE="die-at=0")
        with self.assertRaisesRegex(stoker.StokerError, "Pillow cannot go on"):  # the fake lists in its own way
            self.said(lambda: list(self.loader()))
        with open(self.log) as log:
            self.assertLess(log.read().count('"start"'), 10)

    def test_silence_is_not_death(self):
        """A daemon that was stopped, or whose machine was, is waited for; the user is told once."""
        loader = self.loader(depth=3)
        iteration = iter(loader)
        batches = [next(iteration).indices.tolist()]
        (pid,) = children()
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        sentences = []
        loader._feeder._session._say = lambda sentence: (sentences.append(sentence), os.kill(pid, signal.SIGCONT))
        batches += [batch.indices.tolist() for batch in iteration]
        self.assertEqual(sorted(sum(batches, [])), list(range(42)))
        self.assertEqual(len(sentences), 1)
        self.assertRegex(sentences[0], r"no sign of life: waited [0-9.]+ s for a batch of epoch 0 at sample \d+. Its process lives, so it is waited for, 30 s in all")

    def test_a_daemon_that_hangs(self):
        """It is given up after a while, which timeout= shortens, and another one goes on."""
        plain = self.training()
        self.environment(FEED_FAKE="mute-at=2 young=1")
        said = self.said(lambda: self.assertEqual(self.training(timeout=4), plain))
        self.assertRegex(said, r"gave no sign of life for 1 s \(a batch of epoch 0 at sample 16\) and is given up .*: another daemon goes on at sample 16 of epoch 0\n$")
        self.environment(STOKER_FEED_PATIENCE="0.5", FEED_FAKE="")
        for at in ("before", (0, 2), (1, 5), (2, "end")):
            self.said(lambda: self.assertEqual(self.training(lambda when: when == at and self.kill(signal.SIGSTOP)), plain))
        self.assertSoon(lambda: not children())

    def test_slow_daemon(self):
        self.environment(FEED_FAKE="stall-at=2")
        with self.assertRaisesRegex(stoker.StokerError, r"waited \d s for a batch .* \(the fake is thinking\) \(timeout="):
            for _ in self.loader(timeout=2):
                pass

    def test_interrupt_while_waiting(self):
        self.environment(FEED_FAKE="stall-at=1")  # it would wait for ever
        iteration = iter(self.loader())
        next(iteration)
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        with self.assertRaises(KeyboardInterrupt):
            next(iteration)

    def test_forked_child(self):
        loader = self.loader()
        iteration = iter(loader)
        first = next(iteration)
        child = os.fork()
        if child == 0:
            try:
                next(iteration)
            except stoker.StokerError as error:
                os._exit("another process" in str(error))
            os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 1)
        self.assertWhole([first, *iteration])

    def test_ranks_meet(self):
        self.environment(XDG_RUNTIME_DIR=self.enterContext(private_folder()), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_PORT="1234")
        root, seen, out = self.images(), [], os.path.join(self.folder, "out")
        workers = []
        for rank in (0, 1):
            place = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "PYTHONPATH": os.pathsep.join(sys.path)}
            workers.append(subprocess.Popen([sys.executable, "-c", RANK, root, out + str(rank)], env=place))
        for worker in workers:
            self.assertEqual(worker.wait(), 0)
        for rank in (0, 1):
            with open(out + str(rank)) as file:
                seen.append(json.load(file))
        self.assertEqual([len(found) for found in seen], [3, 3])
        self.assertEqual(sorted(sum(seen[0] + seen[1], [])), list(range(42)))

    def test_many_samples_travel_beside_the_packet(self):
        many = [number % 42 for number in range(30_000)]
        loader = self.loader(samples=many, batch_size=10_000, shuffle=False)
        self.assertEqual(next(iter(loader)).images[:, 0, 0, 0].tolist(), many[:10_000])

    def test_arguments(self):
        root = self.images()
        for settings in ({"batch_size": 0}, {"batch_size": 2.5}, {"num_workers": -1}, {"tail": "cut"}, {"on_error": "panic"}, {"rank": 1}, {"rank": 2, "world": 2}):
            with self.assertRaises(ValueError, msg=str(settings)):
                stoker.Loader(root, OPS, **settings)

    def test_no_binary(self):
        self.environment(STOKER_BIN="/nowhere/stoker")
        with self.assertRaisesRegex(stoker.StokerError, "run /nowhere/stoker"):
            iter(self.loader())


if __name__ == "__main__":
    unittest.main()
