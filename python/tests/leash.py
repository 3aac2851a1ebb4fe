"""What tests start ends with them, however they end, and their waits have no clock. The sister of internal/leash (Go).

Importing it gives the tests folders of their own for whatever is temporary, and starts a guard: a process in a session of
its own that ends everything they started once they are gone, and removes the folders. It knows the processes by a
variable of their environment. Programs that tests start handle signals as after a login, and have a stdin.
"""

import atexit
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing import util

MARKER = "TEST_LEASH"
PATIENCE = 1800  # seconds: so that nothing hangs for ever; nothing is measured by it

_run = secrets.token_hex(8)
_held = 0
OF_ALL = _run + "/0/"  # the mark of what no single test has started

_GUARD = """
import os, shutil, sys, time
sys.path.insert(0, sys.argv[1])
import leash
sys.stdin.buffer.read()  # until the tests have ended, whatever way
leash.end(sys.argv[2])
shutil.rmtree(sys.argv[3], ignore_errors=True)
"""

_DETACH = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]], start_new_session=True, stdout=-3, stderr=-3)"


def marked(prefix):
    """The processes whose marker begins so. One that has ended has no environment any more."""
    want = ("\0%s=%s" % (MARKER, prefix)).encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                if want in b"\0" + file.read():
                    found.append(int(name))
        except OSError:
            pass  # gone by now, or somebody else's
    return found


def end(prefix):
    """Kill the processes whose marker begins so, until there is none: they may start others meanwhile."""
    while pids := marked(prefix):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.001)


def hold(case):
    """End with a test all processes that it starts from here on."""
    global _held
    _held += 1
    mine = "%s/%d/" % (_run, _held)
    before = os.environ[MARKER]
    os.environ[MARKER] = mine
    case.addCleanup(os.environ.__setitem__, MARKER, before)
    case.addCleanup(end, mine)


def wait(case, holds, what="what is to come"):
    """Wait until something holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            case.fail("waited in vain for " + what)
        time.sleep(0.005)


def _begin():
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(number, True)  # what was closed is open for us and for what we start
    os.close(number)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:  # which is inherited; what is handled is not
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)
    folder = tempfile.mkdtemp(prefix="st-")
    os.environ.update(TMPDIR=folder, XDG_RUNTIME_DIR=folder + "/run", XDG_CACHE_HOME=folder + "/cache")
    for name in ("run", "cache"):
        os.mkdir(os.path.join(folder, name), 0o700)
    tempfile.tempdir = None  # it is asked again
    environment = {name: value for name, value in os.environ.items() if name not in (MARKER, "PYTHONPATH")}
    pipe, ours = os.pipe()
    subprocess.run(
        [sys.executable, "-c", _DETACH, _GUARD, os.path.dirname(os.path.abspath(__file__)), _run + "/", folder],
        stdin=pipe, env=dict(environment, TEST_LEASH_GUARD="1"), check=True,
    )  # fmt: skip
    os.close(pipe)
    os.environ[MARKER] = OF_ALL

    def clear():
        shutil.rmtree(folder, ignore_errors=True)
        os.close(ours)

    me = os.getpid()
    atexit.register(lambda: end(_run + "/") if os.getpid() == me else None)
    util.Finalize(None, clear, exitpriority=-200)  # in this process alone; multiprocessing's own folder, which lies in ours, goes at -100


if sys.platform == "linux" and "TEST_LEASH_GUARD" not in os.environ and __name__ == "leash":
    _begin()
