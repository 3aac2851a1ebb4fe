"""The modules of the client and the parts of the hook: which imports which, and who sets whose state."""

import ast
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
import circles

FOLDERS = [ROOT / "python" / "stoker", ROOT / "python" / "hook"]


class ModulesTest(unittest.TestCase):
    def test_no_circle(self):
        for folder in FOLDERS:
            self.assertEqual(circles.in_circles(circles.modules_of(folder)), [], folder)

    def test_rooms_import_downwards(self):
        """A folder of the client imports those that stand after it here, and none before."""
        rooms = ["", "loader", "deferred", "deferred.torchvision", "deferred.torch", "deferred.materialize", "deferred.recipes", "remote", "handover", "daemon"]
        leaves = {"_bits", "_limits", "_place", "_verbs", "_warning"}
        for name, found in circles.modules_of(FOLDERS[0]).items():
            for to in found.keys() - leaves - {"__init__"}:
                here, there = name.rpartition(".")[0], to.rpartition(".")[0]
                self.assertLessEqual(rooms.index(here), rooms.index(there), f"{name} imports {to}")

    def test_a_room_has_a_dozen_modules(self):
        for folder in {file.parent for file in FOLDERS[0].rglob("*.py")}:
            modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
            self.assertLessEqual(len(modules), 12, folder)

    def test_a_circle_is_seen_where_the_import_is_late(self):
        sources = {"a.py": "from . import b", "b.py": "def f():\n    part('c').g()"}
        sources.update({"c.py": "def g():\n    now.parts['a'].h()", "d.py": "import a"})
        self.assertEqual(circles.in_circles(circles.arrows(sources)), ["a", "b", "c"])

    def test_no_module_sets_the_globals_of_another(self):
        for file in (file for folder in FOLDERS for file in folder.rglob("*.py")):
            tree = ast.parse(file.read_text())
            modules = {other.stem for folder in FOLDERS for other in folder.rglob("*.py")}
            others = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level for name in node.names} & modules
            for node in ast.walk(tree):
                targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
                for target in targets if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else ():
                    whose = target.value if isinstance(target, ast.Attribute) else None
                    taken = isinstance(whose, ast.Name) and whose.id in others
                    self.assertFalse(taken, f"{file}:{node.lineno} sets a global of {ast.unparse(target)}")


if __name__ == "__main__":
    unittest.main()
