# SPDX-License-Identifier: MIT OR Apache-2.0
"""Motion of vertices in the forms that files and engines play: few keys, helper bones, textures, caches.

    keys, curves, max_error = thew.bakes.compress([walk, run], tolerance=0.002)
    frames, miss = thew.bakes.to_rest_space(posed, (poses, skin_weights), rest)

`docs/methods/bakes.md` tells more.
"""

from . import Compressed, compress, to_rest_space

__all__ = ["Compressed", "compress", "to_rest_space"]
