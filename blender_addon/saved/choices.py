# SPDX-License-Identifier: GPL-3.0-or-later
"""Choices of the settings, as items of Blender's enumerations."""

from __future__ import annotations

from ..logic import cycles

#: First and last frame that Blender allows.
FRAME_RANGE = (-1048574, 1048574)


#: Largest number of cells along a character. The cost grows by the power 1.8 (`logic.health`): 20 times that of 12 cells.
MAX_CELLS = 64


#: Criteria by which finer functions act, with Adaptive.
ADAPTATIONS = (
    ("STRAIN", "Strain", "Fine Detail is computed where and while the flesh is strained"),
    (
        "RIGS",
        "Rigs",
        "Fine Detail is computed where and while rigs need it: in few places for a local shape, whatever else moves, and none without rigs",
    ),
)


#: Methods of motion with the numbers under which files store them.
METHODS = (
    (
        "hyperelastic",
        "Hyperelastic",
        "Flesh that is carried by the skeleton, turns by itself and stiffens as it is stretched. Recommended",
        "",
        0,
    ),
    (
        "warped",
        "Warped",
        "Simpler flesh that turns with the skeleton: 0.2 to 0.9 of Hyperelastic's time, but it runs away "
        "where bones turn fast. For comparison",
        "",
        1,
    ),
    (
        "blended",
        "Blended",
        "Simpler flesh that turns with each bone, blended by the skin weights: 0.2 to 0.7 of Hyperelastic's time with few "
        "bones, more than it with many. It runs away where bones turn fast. For comparison",
        "",
        4,
    ),
    (
        "linear",
        "Linear",
        "Simpler flesh that does not turn: a fifth of Hyperelastic's time, but it swells on large turns. For comparison",
        "",
        2,
    ),
    (
        "modal",
        "Modal",
        "A few vibration modes that turn with the flesh, in real time, for lively secondary motion: a tenth to a third of "
        "Hyperelastic's time, but no small local detail",
        "",
        3,
    ),
    (
        "linearised",
        "Linearised",
        "Exact elasticity, linearised once a step. With Elastic Joints at 1 it takes 0.7 to 0.9 of Hyperelastic's time, below "
        "that 10 to 150 times. Hard blows overshoot, and flesh that is pressed flat stays folded. For comparison",
        "",
        5,
    ),
    (
        "nonlinear",
        "Nonlinear",
        "Exact elasticity, solved anew in every step. With Elastic Joints at 1 it takes 2 to 7 times Hyperelastic's time, below "
        "that 15 to 160 times. No contact, and flesh that is pressed flat stays folded. For comparison",
        "",
        6,
    ),
)


ENGINES = (
    ("AUTO", "Automatic", "Measure both and use the faster one"),
    ("CPU", "Processor", "Deform on the processor"),
    ("GPU", "Graphics Card", "Deform on the graphics card; without a usable one, on the processor, with a note"),
)


BAKE_SPACES = (
    (
        "REST",
        "Flesh Alone",
        "The keys hold what the flesh adds, and the armature goes on moving the skin: glTF, FBX and game engines get both. Recommended",
    ),
    (
        "POSED",
        "Flesh and Bones",
        "The keys hold the whole motion, the armature's too: for programs that read shape keys but no bones. Press "
        "Finish Bake before an export, or the armature bends the skin twice",
    ),
)

STARTS = (
    (
        cycles.AUTOMATIC,
        "Automatic",
        "A motion whose ends meet is a cycle; any other continues from the frames before it",
    ),
    (cycles.CYCLE, "Cycle", "The motion repeats for ever: the last frame runs into the first"),
    (cycles.PREROLL, "Run-in", "The joints come from a standstill just before the first frame"),
    (cycles.SETTLED, "Settled", "The flesh rests in the first pose"),
)
