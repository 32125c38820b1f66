# SPDX-License-Identifier: MIT OR Apache-2.0
"""The end of a program while a daemon thread of it still works."""

import subprocess
import sys
from pathlib import Path

import pytest
import shapes

#: The line that prints is registered before Thew is imported, so it runs after what Thew does at the end of the interpreter.
PROGRAM = """
import atexit, sys, threading
sys.path.insert(0, {folder!r})
told, over = [], threading.Event()
atexit.register(lambda: print(over.wait(60.0), *told))
import numpy as np, shapes, thew

vertices, triangles = shapes.arm()
surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
weights = shapes.arm_weights(vertices)
lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=8)
body = thew.Body(surface, skeleton, lattice, thew.Material(), weights, softness=0.5)
shot = thew.Shot(body, np.tile(np.eye(4), (100000, 2, 1, 1)), 24.0)
began = threading.Event()

def work():
    try:
        {call}
    except thew.Cancelled:
        told.append("stopped")
    else:
        told.append("done")
    try:
        shot.replace(frames=range(3)).simulate()
    except thew.Cancelled:
        told.append("refused")
    over.set()

threading.Thread(target=work, daemon=True).start()
began.wait()
"""
CALLS = {
    "with progress": "shot.simulate(lambda _fraction, _stage: began.set() or True)",
    "without": "began.set(); shot.simulate()",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_exit_stops_work(call):
    """Work of daemon threads is stopped before the interpreter ends: it reported to freed memory. No work begins any more then."""
    text = PROGRAM.format(folder=str(Path(shapes.__file__).parent), call=call)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.split() == ["True", "stopped", "refused"], (done.stdout, done.stderr)
