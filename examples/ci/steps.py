#!/usr/bin/env python3
"""Run the `run:` steps of a workflow file of GitHub's here, in order, as its runner does: by bash -e, and no step behind one that fails.

    examples/ci/steps.py loader.yml --base BASE [--env NAME=VALUE ...]

Run it in a checkout. BASE is the branch that the pull request goes to; `origin/BASE` has to be there. Steps that use actions are
left out: what they would have brought has to be here. Summaries and annotations come on stdout; the exit code is that of the step that fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path


def steps(text: str) -> list[tuple[str, str]]:
    """Names and scripts, of a file that indents as ours do: no YAML is read beyond that."""
    found = []
    for part in text.split("\n      - ")[1:]:
        name, _, rest = part.partition("\n")
        _, run, script = rest.partition("run: |\n")
        if run:
            found.append((name.removeprefix("name: "), textwrap.dedent(script)))
    return found


def settings(text: str) -> dict[str, str]:
    """The workflow's env."""
    lines = text.partition("\nenv:\n")[2].partition("\njobs:")[0].splitlines()
    pairs = (line.split(" #")[0].strip().partition(": ") for line in lines)
    return {name: value.strip('"') for name, _, value in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workflow", type=Path)
    parser.add_argument("--base", required=True)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="in the place of the workflow's, or more")
    arguments = parser.parse_args()
    text = arguments.workflow.read_text()
    with tempfile.TemporaryDirectory() as place:
        summary = Path(place, "summary.md")
        own = dict(entry.split("=", 1) for entry in arguments.env)
        runner = {"GITHUB_BASE_REF": arguments.base, "GITHUB_WORKSPACE": os.getcwd(), "GITHUB_STEP_SUMMARY": str(summary), "RUNNER_TEMP": place, "CI": "true"}
        code = 0
        for name, script in steps(text):
            print(f"## {name}", flush=True)
            code = subprocess.run(["bash", "-e", "-c", script], env={**os.environ, **settings(text), **runner, **own}, check=False).returncode
            if code:
                print(f"## {name} ended with {code}")
                break
        if summary.exists():
            print(summary.read_text())
        if Path(place, "base").exists():
            subprocess.run(["git", "worktree", "remove", "--force", f"{place}/base"], check=False)
    sys.exit(code)


if __name__ == "__main__":
    main()
