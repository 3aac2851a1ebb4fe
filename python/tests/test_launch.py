"""A command has from every verb that starts one what it would have had without it: the signals that are ignored and
blocked, closed standard streams, and the code that a shell has where it cannot run."""

import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import leash

BINARY = os.environ.get("STOKER_BIN", "")

VERBS = {
    "observe": ["observe", "-q", "--"],
    "observe --no-hook": ["observe", "-q", "--no-hook", "--"],
    "feed": ["feed", "--"],
    "tune --plan": ["tune", "--plan", "plan.json", "--"],
    "tune --live": ["tune", "--live", "--"],
}

IGNORED = [
    (),
    ("SIGPIPE",),  # systemd's IgnoreSIGPIPE=yes
    ("SIGINT", "SIGHUP"),  # nohup, a background job
    ("SIGQUIT", "SIGPIPE", "SIGTSTP", "SIGXFSZ"),
    ("SIGCHLD",),
    ("SIGCHLD", "SIGURG", "SIGSEGV", "SIGPROF", "SIGUSR1", "SIGRTMAX"),
]
BLOCKED = [(), ("SIGUSR2",), ("SIGTERM", "SIGCHLD", "SIGRTMIN")]
CLOSED = [(), (0,), (1,), (2,), (0, 1, 2)]


def numbers(names):
    return [getattr(signal, name) for name in names]


def without_libc(masks):
    """Masks without the signals 32 to 34, which are the C library's own, whoever ignored them above us."""
    return re.sub(r"(Sig\w+:\t)(\w{16})", lambda m: f"{m[1]}{int(m[2], 16) & ~(7 << 31):016x}", masks)


@unittest.skipUnless(os.access(BINARY, os.X_OK), "needs STOKER_BIN (make build)")
class LaunchTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        with open(os.path.join(self.folder, "plan.json"), "w") as file:
            file.write('{"plan": 1, "command": ["find"]}')

    def started(self, words, ignored=(), blocked=(), closed=()):
        def before():
            for number in numbers(ignored):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, numbers(blocked))
            for number in closed:
                os.close(number)

        # What Python itself ignores is put back (restore_signals). A descriptor of ours beyond 2 is one that the command has.
        with open(os.path.join(self.folder, "beside"), "w") as beside:
            return subprocess.run(
                words, cwd=self.folder, preexec_fn=before, pass_fds=[beside.fileno()], capture_output=True, text=True, timeout=leash.PATIENCE
            )

    def inherited(self, verb, **state):
        """The masks of a command's signals, and its descriptors."""
        told = os.path.join(self.folder, "told")
        program = [
            ["sed", "-n", "/^Sig[IBC]/w " + told, "/proc/self/status"],
            ["find", "/proc/self/fd", "-maxdepth", "1", "-type", "l", "-fprintf", told, "%f\n"],
        ]
        answers = []
        for words in program:
            ended = self.started([BINARY, *VERBS[verb], *words] if verb else words, **state)
            with open(told) as file:
                answers.append((ended.returncode, without_libc(file.read())))
            os.unlink(told)
        return answers

    def test_signals_and_descriptors_are_the_commands_own(self):
        cases = [{"ignored": i, "blocked": b} for i, b in itertools.product(IGNORED, BLOCKED)]
        cases += [{"ignored": i, "closed": c} for i, c in itertools.product([(), ("SIGCHLD", "SIGPIPE")], CLOSED[1:])]
        for case in cases:
            want = self.inherited(None, **case)
            for verb in VERBS:
                with self.subTest(verb=verb, **case):
                    self.assertEqual(self.inherited(verb, **case), want)

    def test_what_tune_starts_ignores_the_same(self):
        want = os.path.join(self.folder, "want")
        for ignored in ("SIGPIPE",), ("SIGHUP", "SIGCHLD"), ("SIGINT", "SIGQUIT", "SIGPIPE"):
            with self.subTest(ignored=ignored):
                told = os.path.join(self.folder, "told")
                words = ["sed", "-n", "/^Sig[IBC]/w " + told, "/proc/self/status"]
                self.started(["sed", *words[1:-2], words[-2].replace(told, want), words[-1]], ignored=[name for name in ignored if name != "SIGINT"])
                ended = self.started([BINARY, "tune", "--yes", "--", *words], ignored=ignored)
                self.assertIn("0 steady training steps", ended.stderr)
                with open(told) as got, open(want) as own:
                    self.assertEqual(without_libc(got.read()), without_libc(own.read()))  # SIGINT ends a start: CMD does not ignore it

    def test_a_python_program_with_closed_streams_keeps_them_closed(self):
        script = "import os; got = [os.open('/dev/zero', os.O_RDONLY) for _ in range(4)]; open('told', 'w').write(str(got))"
        for closed in CLOSED:
            want = None
            for verb in [None, *VERBS]:
                with self.subTest(verb=verb, closed=closed):
                    ended = self.started([*([BINARY, *VERBS[verb]] if verb else []), sys.executable, "-c", script], closed=closed)
                    self.assertEqual(ended.returncode, 0, ended.stderr)
                    with open(os.path.join(self.folder, "told")) as file:
                        got = file.read()
                    want = want or got
                    self.assertEqual(got[: 3 * len(closed)], want[: 3 * len(closed)])  # those beyond are the hook's as well

    def test_the_end_of_a_command_is_known_where_sigchld_is_ignored(self):
        for script, code in ("exit 7", 7), ("kill -9 $$", 137):
            ended = self.started([BINARY, "observe", "-q", "--", "sh", "-c", script], ignored=("SIGCHLD",))
            self.assertEqual(ended.returncode, code, ended.stderr)

    def written(self, name, text, mode=0o755):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text)
        os.chmod(path, mode)
        return "./" + name

    def made(self, name):
        os.mkdir(os.path.join(self.folder, name))
        return "./" + name

    def test_what_cannot_run_ends_as_in_a_shell(self):
        with open("/bin/true", "rb") as file:
            binary = file.read()
        loader = b"/lib64/ld-linux-x86-64.so.2"
        cases = {
            self.written("missing", b"#!/no/such/python3 -u\n"): "/no/such/python3",
            self.written("tab", b"#! \t/no/such/python3\t-u\n"): "/no/such/python3",
            self.written("short", b"#!/no/such"): "/no/such",
            self.written("windows", b"#!/bin/sh\r\necho hi\r\n"): "sed -i",
            self.written("shut", b"#!/etc/passwd\n"): "/etc/passwd",
            self.written("plain", b"exit 5\n"): "",
            self.written("data", b"\0\1\2\n"): "",
            self.written("noexec", b"#!/bin/sh\n", 0o644): "chmod +x",
            self.written("cut", b"\x7fELF"): "",
            "./absent": "./absent",
            "absent-from-path": "absent-from-path",
            self.made("folder"): "",
        }
        if loader in binary:
            cases[self.written("foreign", binary.replace(loader, b"/lib64/no-such-loader.so.2\0"[: len(loader)]))] = "no-such-loader"
        ignored = [(), ("SIGCHLD",)]
        for (name, word), verb, states in itertools.product(cases.items(), VERBS, ignored):
            with self.subTest(name=name, verb=verb, ignored=states):
                want = subprocess.run(["sh", "-c", 'command "$0"', name], cwd=self.folder, capture_output=True).returncode
                self.assertEqual(want == 5, name == "./plain")
                ended = self.started([BINARY, *VERBS[verb], name], ignored=states)
                self.assertEqual(ended.returncode, want, ended.stderr)
                self.assertIn(word, ended.stderr)
                if want not in (0, 5):
                    self.assertIn("stoker: error: run " + name, ended.stderr)


if __name__ == "__main__":
    unittest.main()
