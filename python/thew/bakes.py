# SPDX-License-Identifier: MIT OR Apache-2.0
"""Motion of vertices in the forms that files and engines play: few keys, helper bones, textures, caches.

    frames, miss = thew.bakes.to_rest_space(posed, (poses, skin_weights), rest)

`docs/methods/bakes.md` tells more.
"""

from . import to_rest_space

__all__ = ["to_rest_space"]
