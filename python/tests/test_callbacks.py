"""What stoker gives to trainers and notebooks: it imports nothing, and is inert where nobody observes. Frameworks are stand-ins."""

import os
import signal
import subprocess
import sys
import time
import types
import unittest
from unittest import mock

import stoker
from stoker import _callbacks, _figures, _notebook
from test_verbs import CASE, built

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOUND = {"stoker/stall_ratio": 0.5}


class Callback:
    pass


class Figures(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, _figures, "newest", {})
        sys.modules.pop("_stoker_hook", None)
        stoker.__dict__.pop("TrainerCallback", None)
        self.addCleanup(stoker.__dict__.pop, "TrainerCallback", None)

    def test_the_hook_hands_them_over(self):
        self.assertEqual(stoker.figures(), {})
        package = types.ModuleType("hook")
        package.guard = None
        part = {"__name__": "hook.log", "__package__": "hook"}
        with open(os.path.join(REPOSITORY, "python", "hook", "log.py")) as file, mock.patch.dict(sys.modules, hook=package):
            exec(compile(file.read(), "log.py", "exec"), part)
        part["log"](None, {"to": ["figures"], "values": {"stall_ratio": 0.5}, "step": 1})
        self.assertEqual(stoker.figures(), FOUND)

    def test_hugging_face(self):
        with mock.patch.dict(sys.modules, transformers=types.SimpleNamespace(TrainerCallback=Callback)):
            callback = stoker.TrainerCallback()
        self.assertIsInstance(callback, Callback)
        state, logs = types.SimpleNamespace(log_history=[{"loss": 1}]), {"loss": 1}
        callback.on_log(None, state, None, logs=logs)
        self.assertEqual((logs, state.log_history), ({"loss": 1}, [{"loss": 1}]), "nobody observes")
        _figures.newest = FOUND
        for _ in range(2):
            callback.on_log(None, state, None, logs=logs)
        self.assertEqual((logs, state.log_history), ({"loss": 1, **FOUND}, [{"loss": 1, **FOUND}]))
        callback.on_log(None, state, None, logs=(later := {"loss": 2}))
        self.assertEqual(later, {"loss": 2}, "what was logged is not logged again")

    def test_lightning(self):
        self.assertEqual(_callbacks.lightning_callbacks(), [], "nobody observes")
        logged = []
        logger = types.SimpleNamespace(log_metrics=lambda values, step: logged.append((values, step)))
        trainer = types.SimpleNamespace(loggers=[logger], global_step=7)
        modules = {"_stoker_hook": types.ModuleType("h"), "lightning.pytorch": types.SimpleNamespace(Callback=Callback)}
        with mock.patch.dict(sys.modules, modules):
            (callback,) = _callbacks.lightning_callbacks()
        callback.on_train_batch_end(trainer, None, None, None, 0)
        _figures.newest = FOUND
        for batch in range(3):
            callback.on_train_batch_end(trainer, None, None, None, batch)
        self.assertEqual(logged, [(FOUND, 7)])

    def test_nothing_heavy_is_imported(self):
        heavy = "{'torch', 'numpy', 'transformers', 'lightning', 'IPython', 'ray', 'accelerate'}"
        code = f"import sys, stoker, stoker._callbacks, stoker._notebook; stoker.figures(); print({heavy} & set(sys.modules))"
        environment = {**os.environ, "PYTHONPATH": os.path.join(REPOSITORY, "python")}
        self.assertEqual(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout, "set()\n")


@unittest.skipUnless(built(), "no binary: make build")
class Notebook(unittest.TestCase):
    def test_a_cell_runs_once_and_is_judged(self):
        ran, magics = [], {}
        shell = types.SimpleNamespace(
            register_magic_function=lambda function, kind: magics.update({(function.__name__, kind): function}), run_cell=lambda cell: ran.append(cell) or time.sleep(1)
        )
        stoker.load_ipython_extension(shell)
        verdict = magics["stoker", "cell"]("", "x = 1")
        self.assertEqual(ran, ["x = 1"])
        self.assertEqual(verdict.rows()[0], ("verdict", verdict.json["verdict"]["class"]))
        with self.assertRaisesRegex(stoker.StokerError, "nothing behind it"):
            magics["stoker", "cell"]("--fast", "x = 2")
        self.assertEqual(ran, ["x = 1"])

    def test_interrupts_are_ignored(self):
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.test_a_cell_runs_once_and_is_judged()

    def test_a_table(self):
        answer = stoker.diagnose(CASE)
        answer["warnings"] = ["<script>"]
        page = _notebook.Verdict(answer)._repr_html_()
        for part in ("cpu-bound/main-thread-loader", "83.3 %", "&lt;script&gt;", "prepare batches in worker processes: "):
            self.assertIn(part, page)

    def test_several_runs_are_compared(self):
        self.assertEqual(stoker.verify([CASE], [CASE])["outcome"]["before"]["runs"], 1)


if __name__ == "__main__":
    unittest.main()
