# SPDX-License-Identifier: GPL-3.0-or-later
"""One line on the state of a character's flesh, which the panel shows first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .cuts import cut_text
from .errors import sentence
from .sentences import plural
from .states import Motion
from .still_poses import nothing_moves, unmoved_text
from .text_width import cut, text_width


@dataclass(frozen=True)
class Health:
    """A line and its gravity: GOOD, OFF, WAITING, NOTICE, WARNING or ERROR."""

    level: str
    text: str

    @property
    def to_read(self) -> bool:
        """Returns whether the line requires action, so that it must not be cut off."""
        return self.level in {"NOTICE", "WARNING", "ERROR"}


@dataclass(frozen=True)
class PlayedBake:
    """What a bake plays now."""

    start: int = 0
    end: int = 0
    clip: str = ""  # name of the action; "": the scene's range
    missing: str = ""  # name of the action that the armature plays, of which there is no clip
    strips: bool = False  # it plays along NLA strips
    holds: bool = False  # its end keys stay on beyond its frames
    fault: str = ""  # why its file does not play, or ""


#: Text for a pose that was not simulated: a bone was turned by hand, or the animation has changed.
POSE_CHANGED_TEXT = "This pose is not simulated: key it, or press Simulate."

#: Text for a character that was moved, turned or scaled as a whole.
OBJECT_MOVED_TEXT = "Moved or scaled since it was simulated: play, or press Simulate."

#: Problems that end when the character is seen as it was simulated.
POSE_PROBLEMS = frozenset({POSE_CHANGED_TEXT, OBJECT_MOVED_TEXT})

#: The same where the armature is switched to its rest position.
REST_POSITION_TEXT = "Armature in Rest Position: switch to Pose Position."

#: Text while the scene's frame shows no such difference.
EDITED_TEXT = "Edited since it was simulated: play, or press Simulate."


def health(
    settings: Any,
    made: Any,
    flesh: Any,
    frame: float,
    riders: int = 0,
    unseen: str = "",
    played: PlayedBake | None = None,
    rest_position: bool = False,
    stale: bool = False,
) -> Health:
    """Returns the line for a mesh with flesh at the scene's `frame`; `flesh`: its stages, or None.

    settings, made: the object's settings and Thew's record of it; riders: number of meshes that ride on it; unseen: why the view
    shows none of it, or ""; played: what its bake plays, where that is shown; rest_position: whether the armature is switched to it;
    stale: whether the motion in view is of former settings, and stays so.
    """
    if not settings.enabled:
        return Health("OFF", "Off: the plain skin")
    problem = "" if flesh is None else flesh.problem
    edited = flesh is not None and (stale or flesh.condition.is_behind)
    if problem in POSE_PROBLEMS and rest_position:
        return Health("NOTICE", REST_POSITION_TEXT)
    if problem in POSE_PROBLEMS:
        return Health("NOTICE", EDITED_TEXT if flesh.condition.motion is Motion.KEYED else problem)
    if problem:
        return Health("ERROR", sentence(problem))
    if unseen:
        return Health("NOTICE", unseen)
    if made.shows_bake:
        return bake_health(played or PlayedBake(), frame)
    if flesh is None or flesh.clip is None:
        return Health("WAITING", "Play, or press Simulate")
    if edited:
        return Health("NOTICE", EDITED_TEXT)
    found = warnings(flesh)
    if found:
        more = f" (and {plural(len(found) - 1, 'other')})" if len(found) > 1 else ""
        return Health("WARNING", found[0].rstrip(".") + more)
    if settings.settled:
        return Health("GOOD", "At rest in every pose")
    along = f"; {riders} {'rides' if riders == 1 else 'ride'} along" if riders else ""
    first, last = flesh.build_settings.live  # the clip may hold more, of a longer range before
    if nothing_moves(flesh):
        return Health("NOTICE", REST_POSITION_TEXT if rest_position else unmoved_text(first, last))
    still = flesh.motion.still_frame(first, last) if flesh.motion is not None else None
    along = along if still is None else f"; the bones stand still from {still} on"
    return Health("GOOD", f"Moves, frames {max(first, flesh.clip_start)} to {min(last, flesh.clip_end)}{along}")


def neighbour_moved_health(other: str) -> Health:
    """Returns the line for flesh without faults, when an object simulated with it has moved since; `other`: its name, in quotes."""
    return Health("NOTICE", f"{other} has changed since both were simulated: play, or press Simulate")


def former_bake_health() -> Health:
    """Returns the line while a bake plays that was made with other settings than the present ones."""
    return Health("NOTICE", "Bake of earlier settings: Show Live, or Bake again")


def bake_health(played: PlayedBake, frame: float) -> Health:
    """Returns the line while a bake plays at the scene's `frame`: beyond its range it shows the plain skin, or holds its end keys."""
    if played.missing:
        return Health(
            "NOTICE",
            f"No clip of “{shorten_middle(played.missing, MAX_CLIP_NAME)}” in the bake: the plain skin. Bake it to move.",
        )
    if played.fault:
        return Health("WARNING", sentence(played.fault))
    if played.strips:
        return Health("GOOD", "Bake plays along the NLA strips")
    first, last = played.start, played.end
    if first <= frame <= last:
        of = f" “{shorten_middle(played.clip, MAX_CLIP_NAME)}”" if played.clip else ""
        return Health("GOOD", f"Bake plays{of}, {first} to {last}")
    more = "" if played.clip else " Bake more frames to move."
    shows = f"the {'first' if frame < first else 'last'} key stays on" if played.holds else "the plain skin"
    return Health("NOTICE", f"Outside its {'clip' if played.clip else 'bake'}, {first} to {last}: {shows}.{more}")


#: Letters of a clip's name in the line: with them it fits on a row of a panel of usual width, its frames too.
MAX_CLIP_NAME = 16


def warnings(flesh: Any) -> list[str]:
    """Returns sentences on faults of a built flesh that require action, the gravest first."""
    found = [sentence(text) for text in flesh.rig_problems.values()]
    if flesh.character is not None and flesh.character.apart:
        found.append(sentence(flesh.character.apart))
    if flesh.build_settings.touches is not None:
        found += [flesh.character.ignored.problem] if flesh.character.ignored.problem else []
        found += flesh.motion.colliders.problems if flesh.motion is not None else ()
    found += (
        [text] if (text := cut_text(flesh.open_cuts)) else []
    )  # a jump throws the flesh: most later warnings follow from it
    found += flesh.pin_warnings()
    found += [sentence(text) for text in flesh.drive_warnings()]
    if flesh.inverted_count > MAX_HARMLESS_INVERSIONS * len(flesh.lattice.cells):
        found.append(f"Flesh limited in {plural(flesh.inverted_count, 'place')}: {limit_advice(flesh)}")
    inexact = np.count_nonzero(flesh.clip.unconverged_steps) if flesh.clip is not None else 0
    if inexact:
        found.append(f"Flesh is thrown too hard to be exact in {plural(inexact, 'frame')}: raise Steps per Second")
    found += [sentence(text) for text in flesh.defects]
    return found


def limit_advice(flesh: Any) -> str:
    """Returns what to do about flesh that is limited. How far a pin draws it does not depend on how soft it is."""
    if flesh.pin_gaps.names:
        return "pull its pins less, or lower Softness"
    blown = flesh.motion is not None and flesh.motion.driven.fields
    return "weaken its force fields, or lower Softness" if blown else "lower Softness"


#: Share of the cells that the motion may invert for a moment without visible effect. Of a thousand cells ten.
MAX_HARMLESS_INVERSIONS = 0.01

#: Largest number of cells across without a warning in the panel; exponent of the time to build in this number.
MAX_CHEAP_CELLS, COST_EXPONENT = 32, 1.8


def cost(cells_across: int) -> str:
    """Returns the cost of that many cells across in words; "" where it is usual."""
    if cells_across <= MAX_CHEAP_CELLS:
        return ""
    return f"Takes about {(cells_across / 12.0) ** COST_EXPONENT:.0f} times as long to build as Detail 12"


#: Time of slow methods over Hyperelastic's, with Elastic Joints at 1 ("": not longer) and below (docs/methods/linearised.md, nonlinear.md).
SLOW_METHODS = {"linearised": ("", "10 to 150"), "nonlinear": ("2 to 7", "15 to 160")}


def method_cost(method: str, elastic_joints: float) -> str:
    """Returns the cost of a slow method in words, and what makes it less; "" where it is usual."""
    whole, below = SLOW_METHODS.get(method, ("", ""))
    if elastic_joints >= 1.0:
        return f"Takes {whole} times as long as Hyperelastic" if whole else ""
    less = f"{whole} times" if whole else "no longer"
    return f"Takes {below} times as long as Hyperelastic; with Elastic Joints at 1 {less}" if below else ""


def shorten(text: str, width: int) -> str:
    """Returns `text` in at most `width` letters, cut after a word, or after any wide sign."""
    if text_width(text) <= width:
        return text
    short = cut(text, width)
    words = short.rsplit(" ", 1)
    whole = len(words) > 1 and text_width(short) == len(short)
    return (words[0] if whole else cut(text, width - 1)).rstrip(" ,:;.、，：；。") + "…"


def shorten_middle(name: str, width: int) -> str:
    """Returns a name in at most `width` characters, its beginning and its end: names of actions often begin alike."""
    if len(name) <= width:
        return name
    start = (width - 1) // 2
    return f"{name[:start]}…{name[start + 1 - width :]}"
