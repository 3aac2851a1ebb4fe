"""A command runs under observe, feed and tune as it runs alone: at low values of every limit of `ulimit -a`, and with
every value of the variables that Go's runtime reads. docs/trust.md has the table."""

import glob
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import leash

BINARY = os.environ.get("STOKER_BIN", "")

KIB, MIB = 1 << 10, 1 << 20
OBSERVED, UNOBSERVED, NOT_LOADED = "observed", "unobserved", "not loaded"

# The flag of ulimit, the limit's number on Linux, values in the kernel's units, and what becomes of observing.
# NUMBERS has those that Python's resource has no name for.
NUMBERS = {"RLIMIT_SIGPENDING": 11, "RLIMIT_MSGQUEUE": 12, "RLIMIT_NICE": 13, "RLIMIT_RTPRIO": 14, "RLIMIT_RTTIME": 15, "RLIMIT_LOCKS": 10}
LIMITS = [
    ("c", "RLIMIT_CORE", [0, KIB], OBSERVED),
    ("d", "RLIMIT_DATA", [4 * MIB, 30 * MIB], NOT_LOADED),
    ("d", "RLIMIT_DATA", [37 * MIB, 60 * MIB, 200 * MIB, 1000 * MIB], UNOBSERVED),
    ("e", "RLIMIT_NICE", [0], OBSERVED),
    ("f", "RLIMIT_FSIZE", [0, 512, 64 * KIB], OBSERVED),
    ("i", "RLIMIT_SIGPENDING", [0, 1], OBSERVED),
    ("l", "RLIMIT_MEMLOCK", [0], OBSERVED),
    ("m", "RLIMIT_RSS", [0, MIB], OBSERVED),
    ("n", "RLIMIT_NOFILE", [4, 5, 6, 8, 12, 16, 24, 32], UNOBSERVED),
    ("n", "RLIMIT_NOFILE", [60], OBSERVED),
    ("q", "RLIMIT_MSGQUEUE", [0], OBSERVED),
    ("r", "RLIMIT_RTPRIO", [0], OBSERVED),
    ("R", "RLIMIT_RTTIME", [1000], OBSERVED),
    ("s", "RLIMIT_STACK", [64 * KIB, 256 * KIB], OBSERVED),
    ("t", "RLIMIT_CPU", [1, 2, 59], UNOBSERVED),
    ("t", "RLIMIT_CPU", [60], OBSERVED),
    ("v", "RLIMIT_AS", [20 * MIB, 50 * MIB], NOT_LOADED),
    ("v", "RLIMIT_AS", [80 * MIB, 300 * MIB, 700 * MIB, 1200 * MIB, 3000 * MIB], UNOBSERVED),
    ("x", "RLIMIT_LOCKS", [0], OBSERVED),
]
# Root is free of it.
THREADS = ("u", "RLIMIT_NPROC", [0, 1, 2, 4, 5, 6, 8, 12, 20, 30], UNOBSERVED)

VARIABLES = {
    "GOMEMLIMIT": ["2GB", "2G", "1e9", "-1", "", "1", "10MiB", "off", "99999999999999999999"],
    "GODEBUG": ["fips140=foo", "fips140=only", "fips140=on", "cpu.x=off,fips140=foo", "gctrace=1", "inittrace=1", "madvdontneed=x", "schedtrace=1", "x", ",,=", ""],
    "GOGC": ["off", "0", "-5", "x", ""],
    "GOMAXPROCS": ["100000", "0", "-1", "x"],
    "GOTRACEBACK": ["crash", "none", "x"],
    "GOROOT": ["/nowhere"],
    "GOCOVERDIR": ["/nowhere"],
    "GORACE": ["x"],
}

VERBS = {
    "observe": ["observe", "-q", "-o", "run.jsonl.gz", "--"],
    "feed": ["feed", "--"],
    "tune --live": ["tune", "--live", "--"],
    "tune": ["tune", "--yes", "--"],
}
CODE = 7
COMMAND = ["sh", "-c", f"echo out; echo err >&2; env | grep ^GO; exit {CODE}"]
LINE = "the command runs as without stoker: "


@unittest.skipUnless(os.access(BINARY, os.X_OK), "needs STOKER_BIN (make build)")
class LimitsTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def ended(self, words, limit=None, user=None, **variables):
        """How words end in a new folder under a limit, as another user where one is named, and whether a recording is there."""
        here = tempfile.mkdtemp(dir=self.folder)
        if user:
            os.chmod(self.folder, 0o755)
            os.chown(here, user, user)

        def before():
            if limit:
                resource.setrlimit(limit[0], (limit[1], limit[1]))
            if user:  # last: who is over the limit of processes starts none
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)

        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GO", "XDG_"))}
        done = subprocess.run(
            words, cwd=here, env={**kept, "HOME": here, **variables}, preexec_fn=before,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=leash.PATIENCE,
        )  # fmt: skip
        return done, bool(glob.glob(os.path.join(here, "run*.jsonl.gz")))

    def compare(self, verbs, outcome, binary=BINARY, **state):
        alone, _ = self.ended(COMMAND, **state)
        for verb in verbs:
            with self.subTest(verb=verb, **state):
                done, recorded = self.ended([binary, *VERBS[verb], *COMMAND], **state)
                if outcome == NOT_LOADED:
                    self.assertLess(done.returncode, 0)
                    continue
                self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout), done.stderr)
                self.assertEqual([line for line in done.stderr.splitlines() if not line.startswith("stoker: ")], alone.stderr.splitlines())
                if verb == "observe" and alone.returncode == CODE:
                    self.assertEqual((recorded, LINE in done.stderr), (outcome == OBSERVED and state["limit"] != FILES_OF_NONE, outcome == UNOBSERVED), done.stderr)

    def verbs(self, outcome):
        return [verb for verb in VERBS if verb != "tune" or outcome == UNOBSERVED]  # else it starts several times

    def test_the_commands_own_end_at_every_limit(self):
        for _, name, values, outcome in LIMITS:
            number = getattr(resource, name, NUMBERS.get(name))
            for value in values:
                self.compare(self.verbs(outcome), outcome, limit=(number, value))

    @unittest.skipUnless(sys.platform == "linux" and os.getuid() == 0, "needs root, to be a user who has no processes")
    def test_the_commands_own_end_where_few_processes_may_start(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(dir="/tmp"))  # every user can look into it
        program = shutil.copy(BINARY, self.folder)
        user = 1 << 20 | os.getpid()  # nobody else is
        _, name, values, outcome = THREADS
        for value in values:
            self.compare(self.verbs(outcome), outcome, program, limit=(getattr(resource, name), value), user=user)

    def test_variables_of_gos_runtime_are_the_commands_alone(self):
        for name, value in ((name, value) for name, values in VARIABLES.items() for value in values):
            self.compare(self.verbs(OBSERVED), OBSERVED, limit=None, **{name: value})

    def test_the_order_of_variables_is_kept(self):
        names = dict(itertools.chain(*([(f"A{i}", "1"), (name, "x")] for i, name in enumerate(VARIABLES))))
        words = ["sh", "-c", "tr '\\0' '\\n' < /proc/self/environ"]

        def order(words):
            done, _ = self.ended(words, **names)
            return [line for line in done.stdout.splitlines() if line.partition("=")[0] in names]

        want = order(words)
        self.assertEqual(len(want), len(names))
        for verb in "observe", "feed", "tune --live":
            with self.subTest(verb=verb):
                self.assertEqual(order([BINARY, *VERBS[verb], *words]), want)

    def test_a_command_that_takes_the_place_of_a_program_that_does_not_begin_is_found_as_by_a_shell(self):
        limit = (resource.RLIMIT_AS, 100 * MIB)
        self.write("first/both", "#!/bin/sh\nexit 3\n")
        self.write("second/both", "#!/bin/sh\nexit 4\n")
        self.write("second/plain", "exit 5\n")
        self.write("second/shut", "exit 5\n", 0o644)
        path = ":".join([self.folder + "/first", self.folder + "/none", self.folder + "/second", os.environ["PATH"]])
        for words in ["both"], [self.folder + "/second/both"], ["plain"], ["absent"], ["shut"], ["./absent"], [self.folder], ["sh", "-c", 'exit "$#"', "a", "--", "b"]:
            with self.subTest(words=words):
                want = subprocess.run(["sh", "-c", 'exec "$@"', "sh", *words], env={"PATH": path}, cwd=self.folder, capture_output=True).returncode
                for verb in VERBS:
                    done, _ = self.ended([BINARY, "--color", "never", *VERBS[verb], *words], limit=limit, PATH=path)
                    self.assertEqual(done.returncode, want, done.stderr)

    def write(self, name, text, mode=0o755):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)


FILES_OF_NONE = (resource.RLIMIT_FSIZE, 0)  # under which there is no recording

if __name__ == "__main__":
    unittest.main()
