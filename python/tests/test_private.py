"""The rule of private folders, with the table of cases that the Go side is tested with; locks; who answers at a socket."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

from private_folder import private_folder

from stoker import StokerError
from stoker._warning import StokerWarning
from stoker.daemon import private

try:
    from stoker.daemon import session
except ImportError:
    session = None  # it needs numpy

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../internal/private/testdata/cases.json")


class Folders(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.base = stack.enter_context(private_folder())

    def test_cases(self):
        with open(CASES) as file:
            cases = json.load(file)
        self.assertGreater(len(cases), 20)
        for number, case in enumerate(cases):
            with self.subTest(case["name"]):
                self.hold(case, os.path.join(self.base, str(number)))

    def hold(self, case, base):
        os.mkdir(base, 0o700)
        if os.geteuid() and ("as" in case or any("uid" in entry for entry in case["make"])):
            self.skipTest("needs root to make folders of others")
        for entry in case["make"]:
            self.build(entry, os.path.join(base, entry["path"]), base)
        path = case["check"].removeprefix("/") if case["check"][0] in "/." else f"{base}/{case['check']}"
        if "refused" in case:
            with self.assertRaises(private.Shared) as raised:
                private.check(path, case.get("as"))
            self.assertIn(case["refused"], str(raised.exception))
        else:
            self.assertEqual(private.check(path, case.get("as")), os.path.join(base, case["real"]))

    def build(self, entry, path, base):
        if "link" in entry:
            os.symlink(entry["link"].replace("/{base}", base), path)
            return
        if entry.get("file"):
            open(path, "w").close()
        else:
            os.mkdir(path, 0o700)
        os.chmod(path, int(entry["mode"], 8))
        if "uid" in entry:
            os.chown(path, entry["uid"], -1)

    def test_place(self):
        home, run = os.path.join(self.base, "home"), os.path.join(self.base, "run")
        os.mkdir(home, 0o700)
        os.mkdir(run, 0o700)
        with environment(XDG_RUNTIME_DIR=run, XDG_CACHE_HOME=os.path.join(self.base, "cache"), HOME=home):
            self.assertEqual(private.place(), os.path.join(run, "stoker"))
            os.chmod(run, 0o777)
            self.assertEqual(private.place(), os.path.join(self.base, "cache", "stoker"))
            del os.environ["XDG_CACHE_HOME"]
            self.assertEqual(private.place(), os.path.join(home, ".cache", "stoker"))
        for folder in ("run/stoker", "cache/stoker", "home/.cache/stoker", "home/.cache"):
            self.assertEqual(os.stat(os.path.join(self.base, folder)).st_mode & 0o777, 0o700, folder)

    def test_no_place(self):
        with environment(XDG_RUNTIME_DIR="/tmp", HOME="/nonexistent"), unittest.mock.patch("pwd.getpwuid", side_effect=KeyError):
            with self.assertRaisesRegex(private.Shared, "/tmp may be written by others.*look at /nonexistent: no such file.*set XDG_RUNTIME_DIR"):
                private.place()
        self.assertFalse(os.path.exists("/nonexistent"))

    @unittest.skipUnless(session, "needs numpy")
    def test_a_long_path_of_a_socket(self):
        folder = os.path.join(self.base, *["x" * 60] * 4)
        os.makedirs(folder, 0o700)
        place = os.path.join(folder, "job.sock")
        self.assertIsNone(session._connect(place))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            with private.reach(place) as name:
                listener.bind(name)
            listener.listen()
            with session._connect(place) as end:
                self.assertEqual(private.peer(end), os.geteuid())

    def test_lock(self):
        path, order = os.path.join(self.base, "lock"), []

        def enter(number):
            with private.lock(path, lambda: time.sleep(0.001)):
                order.append(number)
                order.append(number)

        threads = [threading.Thread(target=enter, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(order[::2], order[1::2])
        self.assertEqual(os.listdir(self.base), [])

        def give_up():
            raise StokerError("another has it")

        with private.lock(path, give_up), self.assertRaisesRegex(StokerError, "another has it"):
            with private.lock(path, give_up):
                pass


@unittest.skipUnless(session, "needs numpy")
class MeetingTest(unittest.TestCase):
    """Where the ranks of a node meet: another user can neither take the place nor keep them from it."""

    def test_a_folder_in_tmp_is_of_no_matter(self):
        squatted = f"/tmp/stoker-{os.geteuid()}"
        with contextlib.suppress(FileExistsError):
            os.symlink("/nonexistent", squatted)
            self.addCleanup(os.unlink, squatted)
        with private_folder() as home, environment(HOME=home):
            self.assertEqual(os.path.dirname(session.meeting_place("job")), os.path.join(home, ".cache", "stoker"))

    def test_no_place_to_meet(self):
        with environment(HOME="/nonexistent"), unittest.mock.patch("pwd.getpwuid", side_effect=KeyError):
            with self.assertWarnsRegex(StokerWarning, "each has one of its own.*/nonexistent: no such file"):
                self.assertIsNone(session.meeting_place("job"))

    def test_nodes_that_share_a_home_meet_apart(self):
        with private_folder() as home, environment(HOME=home):
            here = session.meeting_place("job")
            self.assertEqual(here, session.meeting_place("job"))
            with unittest.mock.patch("socket.gethostname", return_value="another-node"):
                self.assertNotEqual(here, session.meeting_place("job"))

    @unittest.skipIf(os.geteuid(), "needs root to become somebody else")
    def test_another_user_answers(self):
        with private_folder() as folder:
            place = os.path.join(folder, "job.sock")
            listener = (
                "import os, socket, sys\n"
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1])\n"
                "os.setuid(65534); s.listen(); print(flush=True); end, _ = s.accept(); print(repr(end.recv(100)))"
            )
            with subprocess.Popen([sys.executable, "-c", listener, place], stdout=subprocess.PIPE, text=True) as other:
                try:
                    other.stdout.readline()
                    with self.assertRaisesRegex(StokerError, "answered by user 65534"):
                        session._connect(place)
                    self.assertEqual(other.stdout.read(), "b''\n")  # it was told nothing
                finally:
                    other.kill()


@contextlib.contextmanager
def environment(**values):
    """These variables, and nothing else that names a place."""
    kept = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME")}
    with unittest.mock.patch.dict(os.environ, {**kept, **values}, clear=True):
        yield


if __name__ == "__main__":
    unittest.main()
