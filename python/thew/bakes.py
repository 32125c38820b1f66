# SPDX-License-Identifier: MIT OR Apache-2.0
"""Motion of vertices in the forms that files and engines play: few keys, helper bones, textures, caches.

    keys, curves, max_error = thew.bakes.compress([walk, run], tolerance=0.002)
    bones = thew.bakes.helper_bones(rest, [walk, run], [walk_poses, run_poses], skin_weights, count=16)
    frames, miss = thew.bakes.to_rest_space(posed, (poses, skin_weights), rest)
    texture = thew.bakes.write_vertex_texture("hero", {"walk": frames}, rest, fps=24)
    thew.bakes.write_pc2("hero.pc2", posed)

`docs/methods/bakes.md` tells more.
"""

from . import (
    Compressed,
    HelperBones,
    VertexTexture,
    compress,
    helper_bones,
    read_mdd,
    read_pc2,
    read_vertex_texture,
    tension,
    to_rest_space,
    write_mdd,
    write_pc2,
    write_vertex_texture,
)

__all__ = [
    "Compressed",
    "HelperBones",
    "VertexTexture",
    "compress",
    "helper_bones",
    "read_mdd",
    "read_pc2",
    "read_vertex_texture",
    "tension",
    "to_rest_space",
    "write_mdd",
    "write_pc2",
    "write_vertex_texture",
]
