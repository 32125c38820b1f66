# SPDX-License-Identifier: MIT OR Apache-2.0
"""Workflows call what exists, and nothing that can be changed behind a tag."""

import re
import subprocess
import sys

import pytest

from tools.shell import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_actions_pinned(file):
    """Workflows pin every action by its commit hash and note its version."""
    used = re.findall(r"uses: (\S+)(.*)", file.read_text())
    assert used
    for action, note in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", note), f"{action} tells no version"


def test_pins_agree():
    """All workflows pin the same version of an action."""
    pins = {}
    for file in WORKFLOWS:
        for name, pin in re.findall(r"uses: (\S+)@(\S+)", file.read_text()):
            assert pins.setdefault(name, pin) == pin, f"{name} is pinned twice"


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_build_commands_exist(file):
    """Every command of build.py in a workflow exists."""
    words = set(re.findall(r"build\.py ([a-z-]+)", file.read_text()))
    usage = subprocess.run(
        [sys.executable, "build.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    known = re.search(r"\{([a-z,\s-]+)\}", usage)[1].replace("\n", "").replace(" ", "").split(",")
    assert words and words <= set(known)
