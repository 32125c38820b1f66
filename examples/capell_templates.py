# SPDX-License-Identifier: MIT OR Apache-2.0
"""The four force field templates on a round limb: above at true size, below the flesh in balance with them. [capell2006, §4.2]"""

from __future__ import annotations

import numpy as np

from examples import rigged
from examples.command import Options, options
from examples.studio import BLUE, RED, Studio
from examples.widgets import draw

COLUMN, ROW = 0.62, 0.98


def main(how: Options) -> None:
    limb = rigged.limb()
    studio = Studio(turn=-52.0, tilt=14.0)
    paint, pale = studio.vertex_material(gloss=0.4), studio.vertex_material(alpha=0.45, gloss=0.4)
    glass, ink = studio.material(BLUE, alpha=0.35), studio.material(RED)
    middle = np.array([0.0, 0.0, 0.4])
    print(f"{len(limb.vertices)} vertices, {limb.body.node_count} lattice vertices")
    for column, (kind, rigs) in enumerate(limb.rigs.items()):
        place = studio.at(COLUMN * column, 0.0) - middle
        studio.mesh(limb.vertices, limb.triangles, pale, place, limb.colours)
        for rig in rigs:
            draw(studio, rig.template, rig.frame(limb.body), place, glass, ink, before=0.6)
        skin = limb.balanced_skin({kind: 1.0})
        studio.mesh(skin, limb.triangles, paint, place + studio.at(0.0, -ROW), limb.colours)
        studio.text(kind, studio.at(COLUMN * column, -0.49, 1.0), 0.06)
        far = np.linalg.norm(skin - limb.vertices, axis=1)
        print(f"{kind}: {rigs[0].template.parameters}, skin moved by up to {100 * far.max():.1f} cm")
    studio.render(how.output, (-0.45, -ROW - 0.45), (3 * COLUMN + 0.45, 0.47), how.width, how.engine)


if __name__ == "__main__":
    main(options("rig-templates"))
