"""Prints a unified diff of a script with other keywords in one DataLoader call. Reads {"file", "line", "set": {keyword: value}} from stdin.

The call is found by its line in the syntax tree; all else keeps its bytes. Changes that are not certain are listed in "left".
"""

import ast
import difflib
import json
import sys

POSITIONS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory")


def call_at(tree, line):
    """The innermost call over this line that is named like a DataLoader; else the only call that has its keywords."""
    over = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.lineno <= line <= node.end_lineno]
    named = [node for node in over if getattr(node.func, "attr", getattr(node.func, "id", "")).endswith("DataLoader")]
    return max(named, key=lambda node: (node.lineno, node.col_offset)) if named else None


def offset(lines, line, column):
    return sum(len(text) for text in lines[: line - 1]) + column


def edits(call, lines, wanted, left):
    """(start, end, bytes) for each keyword."""
    where = lambda node: (offset(lines, node.lineno, node.col_offset), offset(lines, node.end_lineno, node.end_col_offset))
    spread = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    new = []
    for name, value in wanted.items():
        given = [k.value for k in call.keywords if k.arg == name]
        if not given and name in POSITIONS[: len(call.args)]:
            given = [call.args[POSITIONS.index(name)]]
        if given and not isinstance(given[0], ast.Constant):
            left.append({"setting": name, "why": "%s is %s there: give that %r" % (name, ast.unparse(given[0]), value)})
        elif given:
            yield where(given[0]) + (repr(value).encode(),)
        elif spread:
            left.append({"setting": name, "why": "the call passes * or **: %s may be among them" % name})
        else:
            new.append("%s=%r" % (name, value))
    if new:
        yield insert_arguments(call, lines, new)


def insert_arguments(call, lines, new):
    """Behind the last argument, on separate lines if the arguments have such."""
    nodes = list(call.args) + [keyword.value for keyword in call.keywords]
    if not nodes:
        at = offset(lines, call.end_lineno, call.end_col_offset) - 1
        return at, at, ", ".join(new).encode()
    last = max(nodes, key=lambda node: (node.end_lineno, node.end_col_offset))
    at = offset(lines, last.end_lineno, last.end_col_offset)
    first = min(nodes, key=lambda node: (node.lineno, node.col_offset))
    own_lines = first.lineno > call.lineno
    text = lines[last.lineno - 1]
    indent = text[: len(text) - len(text.lstrip())] if own_lines else b" "
    newline = (b"\r\n" if text.endswith(b"\r\n") else b"\n") if own_lines else b""
    return at, at, b"".join(b"," + newline + indent + keyword.encode() for keyword in new)


def main():
    asked = json.load(sys.stdin)
    with open(asked["file"], "rb") as file:
        source = file.read()
    lines, left = source.splitlines(True), []
    call = call_at(ast.parse(source), asked["line"])
    if call is None:
        left = [{"setting": name, "why": "no call named DataLoader is on that line"} for name in asked["set"]]
        print(json.dumps({"diff": "", "left": left}))
        return
    after = source
    for start, end, text in sorted(edits(call, lines, asked["set"], left), reverse=True):
        after = after[:start] + text + after[end:]
    ast.parse(after)  # a result that is not valid Python is not printed
    decode = lambda text: text.decode("utf-8", "surrogateescape").splitlines(True)
    diff = "".join(difflib.unified_diff(decode(source), decode(after), "a/" + asked["name"], "b/" + asked["name"]))
    print(json.dumps({"diff": diff, "left": left}))


main()
