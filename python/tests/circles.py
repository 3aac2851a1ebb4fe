"""Which modules of a folder import which, and those that import each other in a circle.

    python3 python/tests/circles.py FOLDER…        python/stoker, python/hook

Modules of folders below it are named with their folder, as in `loader.order`. A module that is imported inside a function counts as well, and is marked `late`. In the hook a part is also imported by
`part("name")`, and used by `now.parts["name"]`. `if TYPE_CHECKING` does not count: nothing is imported there.
python/tests/test_modules.py fails on a circle.
"""

import ast
import sys
from pathlib import Path


def imports_of(tree, modules, home=""):
    """{module: late}, of a module in the folder home; late is an import inside a function."""
    found = {}

    def look(node, late):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        for name in set(names_of(node, home)) & modules:
            found[name] = found.get(name, True) and late
        for child in ast.iter_child_nodes(node):
            look(child, late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    look(tree, False)
    return found


def names_of(node, home):
    """What a node may import, as names below the folder that is looked at."""
    if isinstance(node, ast.Import):
        return [a.name.split(".")[-1] for a in node.names]
    if isinstance(node, ast.ImportFrom):
        folders = home.split(".") if home else []
        place = folders[: len(folders) + 1 - node.level] if node.level else []
        module = ".".join(place + (node.module.split(".") if node.module else []))
        return [module, *(f"{module}.{a.name}" if module else a.name for a in node.names)]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("part") and node.args and isinstance(node.args[0], ast.Constant):
        return [node.args[0].value]
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "now.parts" and isinstance(node.slice, ast.Constant):
        return [node.slice.value]
    return []


def reaches(graph, start, goal, seen):
    return any(n == goal or (n not in seen and not seen.add(n) and reaches(graph, n, goal, seen)) for n in graph[start])


def modules_of(folder):
    return arrows({str(path.relative_to(folder)): path.read_text() for path in Path(folder).rglob("*.py") if path.name != "__init__.py" or path.parent == Path(folder)})


def arrows(sources):
    """{module: {module that it imports: late}}, of sources by the paths of their files."""
    names = {file: file[: -len(".py")].replace("/", ".") for file in sources}
    every = set(names.values())
    return {name: imports_of(ast.parse(sources[file]), every - {name}, name.rpartition(".")[0]) for file, name in names.items()}


def in_circles(graph):
    return sorted(name for name in graph if reaches(graph, name, name, set()))


def main(folders):
    for folder in folders:
        graph = modules_of(folder)
        early = {name: {to for to, late in found.items() if not late} for name, found in graph.items()}
        depth = {}

        def floor(name):
            if name not in depth:
                depth[name] = 0
                depth[name] = max((floor(to) + 1 for to in early[name]), default=0)
            return depth[name]

        print(f"{folder}: {len(graph)} modules, {sum(map(len, graph.values()))} imports")
        for level in range(max(map(floor, graph)), -1, -1):
            print(f"  {level}  " + " ".join(sorted(n for n in graph if floor(n) == level)))
        for title, counted in (("circles at import", early), ("circles with late imports", graph)):
            print(f"  {title}: " + (" ".join(in_circles(counted)) or "none"))


if __name__ == "__main__":
    main(sys.argv[1:])
