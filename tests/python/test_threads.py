# SPDX-License-Identifier: MIT OR Apache-2.0
"""The number of threads: in the environment, set at any time, in forked children; the same bits with any."""

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import test_pickling
import thew


@pytest.fixture(autouse=True)
def usual_threads():
    """Leaves the number as it was."""
    yield
    thew.set_threads(None)


def run(code, **environment):
    """Returns what a fresh process prints, and its warnings."""
    env = {name: text for name, text in os.environ.items() if name not in ("THEW_THREADS", "RAYON_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env | environment
    )
    return done.stdout.split(), done.stderr


COUNT = """
import os, sys, thew
def native():
    return len(os.listdir("/proc/self/task"))
before = native()
asked = thew.threads()
thew.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]).winding_number([[0.1, 0.1, 0.1]] * 9)
print(asked, thew.threads(), native() - before)
"""


def test_environment_sets_threads():
    """`THEW_THREADS` counts, before `RAYON_NUM_THREADS`, and is read once."""
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("threads are counted on Linux")
    assert run(COUNT, THEW_THREADS="3")[0] == ["3", "3", "3"]
    assert run(COUNT, THEW_THREADS=" 5 ", RAYON_NUM_THREADS="2")[0] == ["5", "5", "5"]
    assert run(COUNT, RAYON_NUM_THREADS="4")[0] == ["4", "4", "4"]
    usual = run(COUNT)[0]
    assert int(usual[0]) >= 1 and usual == run(COUNT, THEW_THREADS="")[0]
    before = COUNT.replace("before = native()", "thew.set_threads(6)\nbefore = native()")
    assert run(before, THEW_THREADS="2")[0] == ["6", "6", "6"]


@pytest.mark.parametrize("text", ["0", "-2", "many", "2.5", "4096", "1e3"])
def test_nonsense_in_environment_warns(text):
    """Nonsense in the environment is named in a warning, once, and counts as if it were not there."""
    code = (
        COUNT
        + "thew.threads(); thew.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).winding_number([[0, 0, 1]])"
    )
    numbers, said = run(code, THEW_THREADS=text)
    assert numbers[:2] == run(COUNT)[0][:2]
    assert said.count(f"THEW_THREADS is '{text}'") == 1 and "from 1 to 1024" in said


def test_option_before_environment():
    """`--threads` of the command counts, whatever the environment says."""
    code = "import thew\nfrom thew.__main__ import main\n"
    code += "main(['simulate', 'none.shot.thew', '--out', 'none.clip.thew', '--threads', '2'])\nprint(thew.threads())"
    for environment in ({"THEW_THREADS": "5"}, {"RAYON_NUM_THREADS": "5"}, {}):
        assert run(code, **environment)[0] == ["2"], environment


def test_set_threads_refuses_nonsense():
    """Numbers that are none raise an error, and the number stays."""
    thew.set_threads(2)
    for wrong in (0, -1, 1025, 10**30):
        with pytest.raises(thew.InputError):
            thew.set_threads(wrong)
    for wrong in ("two", 1.5, [1]):
        with pytest.raises((TypeError, thew.InputError)):
            thew.set_threads(wrong)
    assert thew.threads() == 2


def test_same_bits_with_any_number(arm):
    """The number may change at any time, and results have the same bits."""
    shot = test_pickling.shot_of_all(arm)
    expected = test_pickling.fingerprint(shot.simulate())
    lattice = test_pickling.fingerprint(arm.lattice)
    for count in (1, 2, 3, 7, None, 1):
        thew.set_threads(count)
        assert count in (None, thew.threads())
        assert test_pickling.fingerprint(shot.simulate()) == expected, count
        again = thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, cells_across=10)
        assert test_pickling.fingerprint(again) == lattice, count


def other_number(arm):
    """Sets a number of threads other than that of the first work."""
    arm.surface.winding_number([[0.0, 0.0, 0.0]])
    first = thew.threads()
    thew.set_threads(first + 1)
    return first + 1


def test_progress_and_errors_on_other_threads(arm):
    """With another number than at first, progress, its exceptions, cancelling and calls from within it work as ever."""
    other_number(arm)
    clip, poses, stages = thew.simulate(arm.body, test_pickling.swings(2), 24.0), test_pickling.swings(3), []

    def look(_fraction, stage):
        stages.append((stage, len(clip)))
        with pytest.raises(thew.InputError, match="until that one has returned"):
            clip.extend(poses)
        thew.set_threads(2 + len(stages) % 2)
        return None

    clip.extend(poses, progress=look)
    assert stages and len(clip) == 5
    with pytest.raises(thew.Cancelled):
        thew.simulate(arm.body, poses, 24.0, progress=lambda *_: False)

    def fail(_fraction, _stage):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        thew.simulate(arm.body, poses, 24.0, progress=fail)
    with pytest.raises(thew.InputError):
        thew.simulate(arm.body, poses[:, :1], 24.0)


def test_several_python_threads(arm):
    """Calls of several Python threads, among them on one clip, do not disturb one another while the number changes."""
    other_number(arm)
    poses, problems = test_pickling.swings(4), []
    expected = np.asarray(thew.simulate(arm.body, poses, 24.0))
    shared = thew.simulate(arm.body, poses, 24.0)

    def work(number):
        try:
            for turn in range(3):
                thew.set_threads(1 + (number + turn) % 4)
                np.testing.assert_array_equal(np.asarray(thew.simulate(arm.body, poses, 24.0)), expected)
                shared.extend(poses[:1])
        except BaseException as error:
            problems.append(error)

    all_threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in all_threads:
        each.start()
    for each in all_threads:
        each.join()
    assert not problems and len(shared) == 16


def child_fingerprint(queue, shot, count):
    """Simulates in a child with its own number of threads."""
    thew.set_threads(count)
    queue.put((thew.threads(), test_pickling.fingerprint(shot.simulate())))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_has_number(arm):
    """A forked child takes the number of its parent or its own, and leaves the parent's pools alone."""
    count = other_number(arm)
    shot = thew.Shot(arm.body, test_pickling.swings(3), 24.0)
    expected = test_pickling.fingerprint(shot.simulate())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = context.Process(target=child_fingerprint, args=(queue, shot, 3))
        child.start()
        assert queue.get(timeout=120.0) == (3, expected)
        child.join(120.0)
    assert thew.threads() == count and test_pickling.fingerprint(shot.simulate()) == expected
