# SPDX-License-Identifier: GPL-3.0-or-later
"""The stories that are photographed: each yields seconds to wait, and saves pictures by name."""

from . import bakes, bones, flesh, keyframed, rigs, shapes, tuning

STORIES = (
    *flesh.STORIES, *tuning.STORIES, *rigs.STORIES, *shapes.STORIES, *keyframed.STORIES, *bakes.STORIES, *bones.STORIES,
)  # fmt: skip
