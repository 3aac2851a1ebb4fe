"""Which modules of a folder import which, and those that import each other in a circle.

    python3 bench/house/circles.py FOLDER…        python/stoker, python/hook

A module that is imported inside a function counts as well, and is marked `late`. In the hook a part is also imported by
`part("name")`, and used by `now.parts["name"]`. `if TYPE_CHECKING` does not count: nothing is imported there.
python/tests/test_modules.py fails on a circle.
"""

import ast
import sys
from pathlib import Path


def imports_of(tree, modules):
    """{module: late}; late is an import inside a function."""
    found = {}

    def look(node, late):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        names = []
        if isinstance(node, ast.Import):
            names = [a.name.split(".")[-1] for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").split(".")[-1], *(a.name for a in node.names)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("part") and node.args and isinstance(node.args[0], ast.Constant):
            names = [node.args[0].value]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "now.parts" and isinstance(node.slice, ast.Constant):
            names = [node.slice.value]
        for name in set(names) & modules:
            found[name] = found.get(name, True) and late
        for child in ast.iter_child_nodes(node):
            look(child, late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    look(tree, False)
    return found


def reaches(graph, start, goal, seen):
    return any(n == goal or (n not in seen and not seen.add(n) and reaches(graph, n, goal, seen)) for n in graph[start])


def modules_of(folder):
    return arrows({path.name: path.read_text() for path in Path(folder).glob("*.py")})


def arrows(sources):
    """{module: {module that it imports: late}}, of sources by the names of their files."""
    names = {file[: -len(".py")] for file in sources}
    return {name: imports_of(ast.parse(sources[name + ".py"]), names - {name}) for name in names}


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
