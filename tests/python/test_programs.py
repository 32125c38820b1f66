# SPDX-License-Identifier: MIT OR Apache-2.0
"""The short programs of examples/python run as they stand, and what they print is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import thew

from tools.shell import ROOT

PROGRAMS = sorted(file.stem for file in (ROOT / "examples" / "python").glob("*.py") if "__main__" in file.read_text())


def output(name):
    """Returns {first words: the numbers and words after the colon} of each line that a program prints."""
    paths = [str(Path(thew.__file__).parent.parent), *sys.path]
    ran = subprocess.run(
        [sys.executable, "-m", f"examples.python.{name}"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
    lines = [line.partition(": ") for line in ran.stdout.splitlines()]
    assert all(colon for _, colon, _ in lines), ran.stdout
    return {title: text for title, _, text in lines}


def numbers(text):
    """Returns all numbers of a text."""
    return [float(word) for word in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def test_programs_short():
    """There are six programs of fewer than sixty lines."""
    assert len(PROGRAMS) == 6
    assert all(len((ROOT / "examples" / "python" / f"{name}.py").read_text().splitlines()) < 60 for name in PROGRAMS)


def test_swinging_arm():
    """The program of a swinging arm prints a volume, a swing and a rest in range."""
    printed = output("swinging_arm")
    tube = numbers(printed["volume"])[0]
    assert 0.028 < tube < 0.1**2 * np.pi * 1.2  # less than the cylinder around it
    largest, settled = numbers(printed["largest"])[0], numbers(printed["settled"])[0]
    assert 0.02 < settled < largest < 0.1
    assert numbers(printed["inverted"]) == [0.0]


def test_softness_and_paint():
    """The program of softness and paint prints more yield for softer flesh and none for hard paint."""
    printed = output("softness_and_paint")
    assert 2.0 < numbers(printed["thickness"])[0] < 12.0
    firm, middle, soft = (numbers(printed[f"dial {dial}"])[0] for dial in (0.0, 0.5, 1.0))
    # Upwards half the thickness is a limit.
    assert middle / firm == pytest.approx(17.0, rel=0.05) and 3.0 < soft / middle < 17.0
    assert numbers(printed["painted 1"])[0] > 5.0 and numbers(printed["painted 0"])[0] < 0.01


def test_driven_rig():
    """The program of a driven rig prints displacements near the peak and a pull that arrives."""
    printed = output("driven_rig")
    least, most = numbers(printed["bears"])
    assert least < -1e5 < 1e5 <= most
    peak, last = numbers(printed["peak displacement"])[0], numbers(printed["last"])[0]
    assert numbers(printed["first"])[0] == 0.0 and 0.5 * peak < last < 2.0 * peak
    part, missed = numbers(printed["reached"])
    assert part == 1.0 and missed < 0.01


def test_dragged_modes():
    """The program of dragged modes prints a beam's frequency and a warped length near the true one."""
    printed = output("dragged_modes")
    # A cantilever's first bending, from above (few linear elements): Euler's and Bernoulli's 0.323 Hz.
    assert 0.323 < numbers(printed["slowest"])[0] < 0.5 and printed["slowest"].endswith("True")
    assert numbers(printed["held"])[0] < 1e-6
    assert numbers(printed["settled"])[0] < 1.0
    sag, warped, linear = numbers(printed["sag"])
    assert 0.3 < sag < 0.9 and abs(warped - 1.02) < 0.12 and linear > 1.1 * warped


def test_balance_and_inverse():
    """The program of balance and inverse prints an exact inverse and a true adjoint."""
    printed = output("balance_and_inverse")
    assert numbers(printed["gravity"])[0] > 1.0
    assert numbers(printed["inverse"])[0] > 0.1 and numbers(printed["inverse"])[1] == 0.0
    assert numbers(printed["again"])[0] < 1e-9
    foretold, true = numbers(printed["adjoint"])
    assert abs(true) > 0.1 and foretold == pytest.approx(true, rel=1e-3)


def test_saved_body():
    """The program of a saved body refuses the damaged file and restores the same motion."""
    printed = output("saved_body")
    assert numbers(printed["file"])[0] > 1e4
    assert "cut off" in printed["damaged"]
    assert printed["same"].startswith("True") and printed["restored"].startswith("True")
