# SPDX-License-Identifier: MIT OR Apache-2.0
"""Built once, kept: a body in a file, a clip made in two parts, a simulation's state given back."""

import tempfile
from pathlib import Path

import numpy as np
import thew

from examples.python import shapes


def main() -> None:
    body = shapes.body()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.thew"
        body.save(file)  # versioned, checksummed, whole or not at all
        print(f"file: {file.stat().st_size} bytes")
        loaded = thew.Body.load(file)
        file.write_bytes(file.read_bytes()[:-100])
        try:
            thew.Body.load(file)
        except thew.StorageError as error:
            print(f"damaged: {str(error).partition(': ')[2]}")

    poses = shapes.bent_poses(np.linspace(0.0, 1.0, 24))
    whole = thew.simulate(body, poses, fps=24)
    parts = thew.simulate(loaded, poses[:10], fps=24)
    parts.extend(poses[10:])
    same = np.array_equal(np.asarray(whole), np.asarray(parts))
    print(f"same: {same}, bit for bit, from the file and in two parts; {whole.nbytes} bytes of kept states")

    simulation = thew.Simulation(loaded)
    simulation.reset(poses[0])
    simulation.advance(poses[1], dt=1 / 24)
    kept = simulation.state()
    simulation.advance(poses[2], dt=1 / 24)
    once = simulation.positions()
    simulation.restore(kept)
    simulation.advance(poses[2], dt=1 / 24)
    print(f"restored: {np.array_equal(simulation.positions(), once)}, from a state of {len(kept)} bytes")


if __name__ == "__main__":
    main()
