# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of the command line on each mesh."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ..bake.bake_result import BakeResult, miss_remark
from ..live import driving, keyframed, riding
from ..live.session import register as fleshes
from ..logic.errors import Refusal, sentence
from ..logic.sentences import join_words, plural, significant
from ..saved import bakes as saved_bakes
from ..scene import bake_files, bakes, destination, texture_playing
from ..scene.files import clear, part_of, replace_file

#: Number of frames for contact sheets.
LOOK_FRAMES = 6


@dataclass
class MeshReport:
    """The report on one mesh."""

    name: str
    text: str
    done: bool
    notes: list[str] = field(default_factory=list)  # further sentences
    seconds: float = 0.0
    file: str = ""  # the file written for it: of a bake the .blend, which is saved once all meshes are done
    files: list[str] = field(default_factory=list)  # files of the bake, of its riders too
    error_mm: float | None = None  # largest distance from the flesh, where the form of the bake allows one
    left: bool = False  # it keeps its plain skin on purpose, beside the bodies of its character
    frames: int = 0  # of its clip
    worst_frame: dict | None = None  # the frame whose skin is farthest from plain skinning, see `own_motion`

    def as_json(self) -> str:
        """Returns the report as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join(f"{self.name}: {text}" for text in (self.text, *self.notes))


def refused_line(obj, error: Exception) -> MeshReport:
    """Returns the report on a mesh that cannot be baked. The command line chooses folders by the .blend that is saved."""
    text = sentence(str(error)).replace("choose another folder", "choose another place with --out")
    return MeshReport(obj.name, text, False)


def keyframed_line(obj, baked: BakeResult, seconds: float) -> MeshReport:
    """Returns the report on a baked motion through shape keys."""
    motion = keyframed.register.state_of(obj).motion
    text = (
        f"{len(motion.plan.keys)} keyframes, {len(obj.data.vertices)} vertices, {len(baked.names)} keys of flesh alone, "
        f"{seconds:.1f} s"
    )
    return MeshReport(obj.name, text, True, list(motion.notes), seconds, frames=len(baked.names))


def own_motion(flesh, frames: range) -> tuple[float, float, int]:
    """Returns the distance to the skinned shape over frames, root mean square and maximum, as shares of the size, and the frame of the
    maximum.
    """
    size = float(flesh.surface.size)
    squares = [(driving.shown_offsets(flesh, frame - flesh.clip_start) ** 2).sum(axis=1) for frame in frames]
    largest = [each.max() for each in squares]
    mean, worst = np.mean([each.mean() for each in squares]), int(np.argmax(largest))
    if size <= 0.0:
        return 0.0, 0.0, frames[0]
    return float(np.sqrt(mean)) / size, float(np.sqrt(largest[worst])) / size, frames[worst]


def scene_frames(bake, flesh) -> range:
    """Returns the frames of a bake of the scene's range that the live clip holds."""
    clip = next((clip for clip in bake.clips if clip.is_scene), None) if bake is not None else None
    first, last = (flesh.clip_start, flesh.clip_end) if clip is None else (clip.start, clip.end)
    return range(max(first, flesh.clip_start), min(last, flesh.clip_end) + 1)


def look_of(obj) -> dict[str, np.ndarray] | None:
    """Returns a few frames of a body's clip, for a rider of its body's, as `thew.farm.sheets` reads them; None without a clip.

    They are frames, triangles, skin and shown [f, n, 3].
    """
    flesh = fleshes.state_of(obj.thew.body if obj.thew.made.rides else obj)
    if flesh.clip is None:
        return None
    held = scene_frames(obj.thew.bakes[-1] if obj.thew.bakes else None, flesh)
    frames = sorted({held[round(each)] for each in np.linspace(0, len(held) - 1, LOOK_FRAMES + 1)[1:]})
    poses = [frame - flesh.clip_start for frame in frames]
    skin = np.stack([flesh.clip.positions(pose) - flesh.clip.offsets(pose) for pose in poses])
    shown = skin + np.stack([driving.shown_offsets(flesh, pose) for pose in poses])
    return {"frames": np.array(frames), "triangles": flesh.surface.triangles, "skin": skin, "shown": shown}


def write_look(shown: dict[str, np.ndarray], path: Path) -> None:
    """Writes what `look_of` returned, whole or not at all; raises a `Refusal` when the disk does not take it."""
    part = part_of(path)
    try:
        clear(path)
        with part.open("wb") as file:
            np.savez_compressed(file, **shown)
        replace_file(part, path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise Refusal(
            f"The frames for contact sheets cannot be written to {path} ({error.strerror or error}): make room there and give "
            "the command again, or leave out --look. The .blend has been saved"
        ) from error


def baked_line(obj, baked: BakeResult, flesh, notes: list[str], seconds: float) -> MeshReport:
    """Returns the report on a body or a rider that was baked; `flesh`: the live flesh, with the clip of the scene's range."""
    clips = f" of {plural(len(baked.clips), 'clip')}" if baked.clips else ""
    bake = saved_bakes.named(obj, baked.bake)
    what = f"{len(baked.names)} keys{clips} of {'flesh alone' if baked.space == 'REST' else 'flesh and bones'}"
    files = written_files(obj, baked.bake)
    if bakes.moves_bones(bake) or files:
        what = f"{bakes.describe_bake(obj, bake)}{clips}"
        what += f" in {files[0].parent}" if files else ""
    counted = sum(clip.end - clip.start + 1 for clip in bake.clips) if bake is not None else 0
    worst = None
    text = f"{len(flesh.lattice.cells)} cells, {len(obj.data.vertices)} vertices, {what}, {seconds:.1f} s"
    if baked.clips:
        text += f": {', '.join(baked.clips)}"
    else:
        mean, most, frame = own_motion(flesh, scene_frames(bake, flesh))
        worst = {"frame": frame, "distance": most}
        text += f", own motion {mean:.2%} of the size on average, {most:.2%} at most"
    if baked.riders:
        text += f"; with {join_words(baked.riders)}"
    if missed := miss_remark(baked.miss):
        text += f"; {missed}"
    off = worst_clip(bake)
    if off is not None and bake.tolerance > 0.0:  # of helper bones a note says it
        text += f"; {significant(1e3 * off.error)} mm off at most, at frame {off.error_frame}"
    return MeshReport(
        obj.name, text, True, notes, seconds, frames=counted, worst_frame=worst, files=[str(path) for path in files],
        error_mm=None if off is None else 1e3 * off.error,
    )  # fmt: skip


def worst_clip(bake: saved_bakes.ThewBake | None) -> saved_bakes.ThewClip | None:
    """Returns the clip that misses the flesh by most, of a bake whose form allows an error; None of an exact one."""
    if bake is None or not len(bake.clips) or not (bake.tolerance > 0.0 or bakes.moves_bones(bake)):
        return None
    return max(bake.clips, key=lambda clip: clip.error)


def written_files(obj, name: str) -> list[Path]:
    """Returns the files of a bake, with those of riders that were baked along."""
    found = [saved_bakes.named(each, name) for each in (obj, *riding.riders_of(obj))]
    paths = bake_files.files_of(clip for bake in found if bake is not None for clip in bake.clips)
    return [plain_path(path) for path in (*paths, *texture_playing.images_of(paths))]


def plain_path(path: Path) -> Path:
    """Returns a path without steps up, where that leads to the same place."""
    plain = Path(os.path.normpath(path))
    return plain if destination.is_same(plain, path) else path
