"""A script's training under `stoker feed` whose daemon dies, hangs or finds no room: what it sees is what it sees alone."""

import contextlib
import hashlib
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import leash
from feed_fixture import children, let_go

try:
    import deferred_pipelines as pipelines
    import torch
    from torch.utils.data import DataLoader
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder

    from stoker import _warning
    from stoker.deferred import deferring, payoff
    from stoker.deferred.materialize import line as _line
    from stoker.deferred.materialize import dispatch
    from stoker.deferred.recipes import job as _job
except ImportError:
    torch = None

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bin", "stoker")

# A script with workers; what it prints and how it ends is compared.
SCRIPT = """
import sys, torch
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
torch.set_num_threads(1)
for images, labels in DataLoader(ImageFolder(sys.argv[1], T.Compose([T.Resize((64, 64)), T.ToTensor()])), 8, num_workers=2):
    print(images.sum().item())
"""


# A trainer that is gone when its worker has the data set, and so before torch's loop in the worker looks for it.
ORPHAN = """
import os, signal, sys, torch
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

class Last(ImageFolder):
    def __setstate__(self, state):
        self.__dict__.update(state)
        print("killed", flush=True)
        os.kill(os.getppid(), signal.SIGKILL)

if __name__ == "__main__":
    data = Last(sys.argv[1], T.Compose([T.Resize((64, 64)), T.ToTensor()]))
    list(DataLoader(data, 8, num_workers=1, multiprocessing_context="spawn"))
"""


@unittest.skipUnless(torch and os.path.exists(BINARY), "needs torch, torchvision and bin/stoker (make build)")
class DeathTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = folder.name
        pipelines.make_images(cls.root)

    def setUp(self):
        leash.hold(self)
        before = set(children())
        self.addCleanup(leash.wait, self, lambda: set(children()) <= before)
        self.addCleanup(let_go)
        self.enterContext(mock.patch.dict(os.environ, STOKER_BIN=BINARY, STOKER_FEED_PATIENCE="2"))
        self.enterContext(mock.patch.multiple(deferring, _daemon=None, _lost=False, _tried=False, _reported_needs={1, 2, 3}))
        self.enterContext(mock.patch.object(_warning, "_said", set()))
        self.enterContext(mock.patch.object(dispatch.materializer, "line", None))
        self.enterContext(mock.patch.object(payoff, "_ALWAYS", True))  # all are fed, small as they are
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        deferring._install()
        self.fed = multiprocessing.Value("q")  # pictures that a daemon made
        call = _line.Line.__call__

        def counted(line, jobs):
            alive, left = line.is_alive(), call(line, jobs)
            with self.fed.get_lock():
                self.fed.value += len(jobs) - len(left) if alive and left is not None else 0
            return left

        self.enterContext(mock.patch.object(_line.Line, "__call__", counted))

    def training(self, workers, hit=None, fed=True, epochs=2, **settings):
        """Digests of the batches of some epochs, of each once more when the next one has come, and of random numbers; what was fed in each epoch."""
        torch.manual_seed(3)
        data = ImageFolder(os.path.join(self.root, "train"), T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()]))
        seen, counts, kept = [], [], None
        with mock.patch.object(deferring, "_everywhere", fed):
            batches = DataLoader(data, 2, shuffle=True, num_workers=workers, **settings)
            for epoch in range(epochs):
                before = self.fed.value
                for number, (images, labels) in enumerate(batches):
                    seen.append((digest(images), labels.tolist()))
                    if kept is not None:
                        seen.append(digest(kept))
                    kept = images.mul_(2)
                    if hit and (epoch, number) == (0, 1):
                        hit()
                counts.append(self.fed.value - before)
        return (seen, torch.rand(1).item()), counts

    def hit(self, number):
        process = deferring._daemon._end.peek()[2][1]
        process.send_signal(number)
        if number != signal.SIGSTOP:
            process.wait()

    def test_death(self):
        """Each epoch behind the daemon's death is fed by another one, and most of its own, whatever the workers are."""
        for workers, settings in ((0, {}), (2, {}), (2, {"persistent_workers": True})):
            alone, _ = self.training(workers, fed=False, **settings)
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
                with self.subTest(workers=workers, number=number, **settings), contextlib.redirect_stderr(io.StringIO()) as said:
                    seen, (first, second) = self.training(workers, lambda: self.hit(number), **settings)
                    self.assertEqual(seen, alone)
                    self.assertEqual(second, pipelines.COUNT - 2)  # one is CMYK, one a PNG
                    self.assertGreater(first, 0)
                if number != signal.SIGSTOP:
                    self.assertEqual(said.getvalue().count("another daemon makes the pictures from here on"), 1, said.getvalue())
            let_go()

    def test_worker_without_a_trainer(self):
        """A worker whose trainer ended before it began ends, too: with it the last end of the pipe."""
        script = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "script.py")
        with open(script, "w") as file:
            file.write(ORPHAN)
        done = subprocess.run([BINARY, "feed", "--", sys.executable, script, os.path.join(self.root, "train")], stdout=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGKILL, "killed\n"))

    def test_fault_in_the_trials(self):
        """Where ours raises before anything is made, the script goes on as without stoker: said once."""
        for workers in (0, 1):
            alone, _ = self.training(workers, fed=False)
            faulty = mock.patch.object(deferring.trust, "check", mock.Mock(side_effect=AttributeError("a test")))
            with mock.patch.multiple(deferring, _lost=False, _checked=False), mock.patch.object(_warning, "_said", set()), faulty, contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(self.training(workers), (alone, [0, 0]))
            self.assertEqual(said.getvalue().count("AttributeError('a test')"), 1, said.getvalue())

    def test_deadline(self):
        """A loader's own timeout= does not end a training whose daemon hangs: the daemon is given up before."""
        with mock.patch.dict(os.environ, STOKER_FEED_PATIENCE="600"), contextlib.redirect_stderr(io.StringIO()):
            seen, _ = self.training(1, lambda: self.hit(signal.SIGSTOP), timeout=leash.PATIENCE / 100)
        self.assertEqual(seen, self.training(1, fed=False, timeout=leash.PATIENCE / 100)[0])

    def test_memory_of_a_daemon_that_wakes_up(self):
        """What a daemon that was given up has in hand is never used again: its pictures are made elsewhere."""
        places, make = [], _line.Line._make

        def hung(line, jobs):
            places.append([job.place.data_ptr() for job in jobs])
            raise _line.Hung(1, "a test")

        with mock.patch.object(_line.Line, "_make", hung), mock.patch.object(_line, "say"), contextlib.redirect_stderr(io.StringIO()):
            made, compute_by_pillow = [], _job.Job.compute_by_pillow
            with mock.patch.object(_job.Job, "compute_by_pillow", lambda job: (made.append((job.place.data_ptr(), job.place)), compute_by_pillow(job))):
                self.training(0, epochs=1)
        self.assertIsNot(make, _line.Line._make and hung)
        self.assertTrue(places)
        self.assertFalse({at for batch in places for at in batch} & {at for at, _ in made})

    def test_bounded(self):
        """A daemon that always dies is started a few times in an iteration, and Pillow makes the rest."""
        started = []
        begin = deferring.daemon_of
        with mock.patch.object(deferring, "daemon_of", lambda *arguments: started.append(1) or begin(*arguments)), contextlib.redirect_stderr(io.StringIO()) as said:
            with mock.patch.object(_line.Line, "_make", lambda line, jobs: (self.hit(signal.SIGKILL), line._answer())):
                seen, _ = self.training(0, epochs=1)
        self.assertEqual(seen, self.training(0, epochs=1, fed=False)[0])
        self.assertIn(len(started), range(2, 8))
        self.assertIn("pictures are made by Pillow for now", said.getvalue())

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_no_shared_memory(self):
        """A full /dev/shm ends the script alone. Fed it goes on: batches cross in memory that lies elsewhere."""
        script = [sys.executable, "-W", "ignore", "-c", SCRIPT, os.path.join(self.root, "train")]
        inside = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$@"', "sh"]
        full, cramped, fed = [
            subprocess.run([*before, *script], capture_output=True, text=True, timeout=leash.PATIENCE)
            for before in ([], inside, [*inside, BINARY, "feed", "--"])
        ]
        if "mount" in cramped.stderr and "denied" in cramped.stderr:
            self.skipTest(cramped.stderr)
        self.assertNotEqual(cramped.returncode, 0)
        self.assertEqual((fed.returncode, fed.stdout), (0, full.stdout), fed.stderr)


def digest(tensor):
    return hashlib.sha256(tensor.numpy().tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    unittest.main()
