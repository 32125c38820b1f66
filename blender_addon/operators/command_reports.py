# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of the command line on each mesh."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

import numpy as np

from ..bake.bake_result import BakeResult, miss_remark
from ..live import keyframed
from ..logic.sentences import join_words, plural
from ..saved import bakes as saved_bakes
from ..scene import bakes


@dataclass
class MeshReport:
    """The report on one mesh."""

    name: str
    text: str
    done: bool
    notes: list[str] = field(default_factory=list)  # further sentences
    seconds: float = 0.0
    file: str = ""  # the file written for it
    left: bool = False  # it keeps its plain skin on purpose, beside the bodies of its character

    def as_json(self) -> str:
        """Returns the report as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join(f"{self.name}: {text}" for text in (self.text, *self.notes))


def keyframed_line(obj, baked: BakeResult, seconds: float) -> MeshReport:
    """Returns the report on a baked motion through shape keys."""
    motion = keyframed.register.state_of(obj).motion
    text = (
        f"{len(motion.plan.keys)} keyframes, {len(obj.data.vertices)} vertices, {len(baked.names)} keys in rest space, "
        f"{seconds:.1f} s"
    )
    return MeshReport(obj.name, text, True, list(motion.notes), seconds)


def own_motion(flesh) -> tuple[float, float]:
    """Returns the distance to the skinned shape over time, root mean square and maximum, as shares of the size."""
    size = float(flesh.surface.size)
    shown = range(flesh.clip_end - flesh.clip_start + 1)
    squares = [(flesh.held(flesh.clip.offsets(index)) ** 2).sum(axis=1) for index in shown]
    mean, most = np.mean([each.mean() for each in squares]), max(each.max() for each in squares)
    return (float(np.sqrt(mean)) / size, float(np.sqrt(most)) / size) if size > 0.0 else (0.0, 0.0)


def baked_line(obj, baked: BakeResult, flesh, notes: list[str], seconds: float) -> MeshReport:
    """Returns the report on a body or a rider that was baked; `flesh`: the live flesh, with the clip of the scene's range."""
    clips = f" of {plural(len(baked.clips), 'clip')}" if baked.clips else ""
    bake = saved_bakes.named(obj, baked.bake)
    what = f"{len(baked.names)} keys{clips} in {baked.space.lower()} space"
    if bakes.moves_bones(bake):
        what = f"{bakes.describe_bake(obj, bake)}{clips}"
    text = f"{len(flesh.lattice.cells)} cells, {len(obj.data.vertices)} vertices, {what}, {seconds:.1f} s"
    if baked.clips:
        text += f": {', '.join(baked.clips)}"
    else:
        mean, most = own_motion(flesh)
        text += f", own motion {mean:.2%} of the size on average, {most:.2%} at most"
    if baked.riders:
        text += f"; with {join_words(baked.riders)}"
    if missed := miss_remark(baked.miss):
        text += f"; {missed}"
    return MeshReport(obj.name, text, True, notes, seconds)
