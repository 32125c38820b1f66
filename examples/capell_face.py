# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 4 of Capell and others 2006: expressions by force fields on a head of ours. [capell2006, §4.2]

Above, where the templates sit; below, the flesh in balance with them.
"""

from __future__ import annotations

import numpy as np

from examples import rigged
from examples.command import Options, options
from examples.studio import BLUE, RED, Studio
from examples.widgets import draw

ROWS = (
    (("neutral", {}, None), ("two bumps", {}, "smile"), ("four bumps", {}, "frown"), ("two tori", {}, "nostrils")),
    (
        ("half a smile", {"smile": 0.5}, None),
        ("smile", {"smile": 1.0}, None),
        ("frown", {"frown": 1.0}, None),
        ("nostrils flared", {"nostrils": 1.0}, None),
    ),
)
COLUMN, ROW = 0.21, 0.375


def main(how: Options) -> None:
    face = rigged.hilda()
    print(
        f"{len(face.vertices)} vertices, {face.body.node_count} lattice vertices, {1e6 * face.body.volume:.0f} cm³ of flesh"
    )
    studio = Studio(turn=-9.0, tilt=-5.0)
    paint, glass, ink = studio.vertex_material(gloss=0.4), studio.material(BLUE, alpha=0.4), studio.material(RED)
    for row, shown in enumerate(ROWS):
        for column, (title, controls, templates) in enumerate(shown):
            place = studio.at(COLUMN * column, -ROW * row)
            skin = face.balanced_skin(controls)
            studio.mesh(skin, face.triangles, paint, place, face.colours)
            studio.text(title, studio.at(COLUMN * column, -ROW * row - 0.214, 0.3), 0.0165)
            for rig in face.rigs.get(templates or "", []):
                draw(studio, rig.template, rig.frame(face.body), place, glass, ink, before=0.05, few=True)
            if controls:
                far = np.linalg.norm(skin - face.vertices, axis=1)
                print(f"{title}: skin moved by up to {1e3 * far.max():.1f} mm, {1e3 * far.mean():.2f} mm on average")
    low, high = (-0.112, -ROW - 0.23), (3 * COLUMN + 0.112, 0.155)
    studio.render(how.output, low, high, how.width, how.engine)


if __name__ == "__main__":
    main(options("rig-face"))
