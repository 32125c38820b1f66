# SPDX-License-Identifier: MIT OR Apache-2.0
"""The typed stub under a type checker: it agrees with the module, typed programs pass, mistakes are found."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import thew

TYPED = Path(__file__).parent / "typed"
PROGRAMS = Path(__file__).parents[2] / "examples" / "python"


def mypy(module, words, folder, **environment):
    """Runs a tool of mypy in a folder without settings of its own, and returns its exit code and output."""
    command = [sys.executable, "-m", module, *map(str, words)]
    ran = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert not ran.stderr, ran.stderr
    return ran.returncode, ran.stdout


@pytest.fixture(scope="module")
def typing_errors(tmp_path_factory):
    """Returns {(file, line, error code)} of all typed programs, by the stub of the module under test alone."""
    folder = tmp_path_factory.mktemp("typed")
    # Without its native module, so that nothing but the stub can tell a type.
    package = folder / "stub" / "thew"
    package.mkdir(parents=True)
    subjects = ("bakes.py", "modal.py", "mrep.py", "rigging.py", "spacetime.py", "tets.py")
    for name in ("__init__.pyi", "_errors.py", "py.typed", *subjects):
        shutil.copy(Path(thew.__file__).parent / name, package / name)
    words = [
        "--strict",
        "--explicit-package-bases",
        "--no-error-summary",
        "--hide-error-context",
        *sorted(TYPED.glob("*.py")),
        *sorted(PROGRAMS.glob("*.py")),
        package,
    ]
    _, output = mypy("mypy", words, folder, MYPYPATH=os.pathsep.join([str(folder / "stub"), str(PROGRAMS.parents[1])]))
    found = [re.match(r"(.*?):(\d+): (?:error: .*\[([a-z-]+)\]|note: .*)$", line) for line in output.splitlines()]
    assert found and all(found), output
    return {(Path(one[1]).name, int(one[2]), one[3]) for one in found if one[3]}


def test_stubtest(tmp_path):
    """The stub passes mypy's stubtest against the module."""
    code, output = mypy("mypy.stubtest", ["thew"], tmp_path)
    assert code == 0, output


def test_typed_programs_pass(typing_errors):
    """Typed programs pass the type checker."""
    assert not [one for one in typing_errors if one[0] != "wrong.py"]


def test_wrong_program_errors(typing_errors):
    """The type checker finds each marked mistake and no other."""
    lines = (TYPED / "wrong.py").read_text(encoding="utf-8").splitlines()
    marked = [(i, re.search(r"# error: ([a-z-]+)$", line)) for i, line in enumerate(lines, 1)]
    expected = {("wrong.py", i, mark[1]) for i, mark in marked if mark}
    assert len(expected) > 30
    assert {one for one in typing_errors if one[0] == "wrong.py"} == expected
