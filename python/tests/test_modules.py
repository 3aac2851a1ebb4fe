"""The client's modules: which imports which, and who sets whose state."""

import ast
import pathlib
import unittest

import stoker

FOLDER = pathlib.Path(stoker.__file__).parent
TREES = {file.stem: ast.parse(file.read_text()) for file in FOLDER.glob("*.py")}


def imported(tree):
    """The client's modules that one imports, at its top or later."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            found.update([node.module] if node.module else [alias.name for alias in node.names])
    return found & TREES.keys()


class ModulesTest(unittest.TestCase):
    def test_no_circle(self):
        waiting = {name: imported(tree) for name, tree in TREES.items() if name != "__init__"}
        while waiting:
            free = [name for name, needs in waiting.items() if not needs & waiting.keys()]
            self.assertTrue(free, f"in a circle, or above one: {sorted(waiting)}")
            for name in free:
                del waiting[name]

    def test_no_module_sets_the_globals_of_another(self):
        for name, tree in TREES.items():
            others = imported(tree)
            for node in ast.walk(tree):
                targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
                for target in targets if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else ():
                    whose = target.value if isinstance(target, ast.Attribute) else None
                    taken = isinstance(whose, ast.Name) and whose.id in others
                    self.assertFalse(taken, f"{name}.py:{node.lineno} sets a global of {ast.unparse(target)}")


if __name__ == "__main__":
    unittest.main()
