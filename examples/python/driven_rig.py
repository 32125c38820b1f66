# SPDX-License-Identifier: MIT OR Apache-2.0
"""A biceps: a force field in the upper arm, driven by the elbow's angle through one control."""

import numpy as np
import thew

from examples.python import shapes


def main() -> None:
    body = shapes.body()
    rig = thew.Rig(
        thew.Template("bulge", radius=0.12, strength=1e5),
        thew.BoneGuide("upper", along=0.5, tilt=np.pi / 2),  # its axis along the bone
        samples=[(0.0, {"strength": 0.0}), (1.5, {})],
        name="Biceps",
    )
    rig = rig.clamped(body)  # no stronger than the flesh bears
    least, most = rig.strength_range(body, gamma=1.5)
    print(f"bears: strengths from {least:.0f} to {most:.0f} N/m³")
    print(f"peak displacement: {1000 * rig.peak_displacements(body)[-1]:.2f} mm of the skin at control 1.5")

    angles = np.linspace(0.0, 1.5, 24)
    poses, controls = shapes.bent_poses(angles), angles[:, None]
    plain = thew.simulate(body, poses, fps=24)
    driven = thew.simulate(body, poses, fps=24, rigs=[rig], controls=controls)
    pushed = np.array([np.linalg.norm(driven.offsets(i) - plain.offsets(i), axis=1).max() for i in range(24)])
    print(f"first: the rig adds {1000 * pushed[0]:.3f} mm")
    print(f"last: the rig adds {1000 * pushed[-1]:.2f} mm")

    # Pulling: which strength brings the skin above the biceps five millimetres outwards?
    skin = body.surface.vertices
    vertex = int(np.argmax(skin[:, 2] - np.abs(skin[:, 0] - 0.25)))
    fit = thew.RigFit(body, rig, shapes.bent_poses(np.zeros(1))[0])
    wanted = fit.positions({"strength": 0.0})[vertex] + [0.0, 0.0, 0.005]
    found = fit.fit([(vertex, wanted)])
    missed = np.linalg.norm(fit.positions(found)[vertex] - wanted)
    print(f"reached: {fit.reached} of the way, missed by {1000 * missed:.3f} mm")


if __name__ == "__main__":
    main()
