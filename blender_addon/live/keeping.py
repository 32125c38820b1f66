# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh kept between sessions, so that a file that is opened again shows it at once.

What is kept holds the key of every stage, each the hash of all that the stage depends on; keys are computed anew from what the file
says now, and what has another one is made anew. Only the poses are believed without being read: each frame that is shown compares
them with what Blender has evaluated, and renders, bakes and Simulate read them again.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ..logic import modal
from ..logic.json_text import parsed
from ..logic.native import core
from ..logic.states import Clip
from ..logic.tasks import Task, Work
from ..scene import cache_files, poses, rig_controls
from . import simulating
from .build_settings import BuildSettings, hashed
from .flesh import Built, Flesh
from .stages import set_keys

#: The layout of what is kept.
FORMAT = 2
#: Names of the keys that are kept.
KEYS = ("lattice_key", "automatic_key", "flesh_key", "body_key", "clip_key")


def stamp() -> str:
    """Returns what tells this build of the core from others, whose motion may be another."""
    file = Path(core()._thew.__file__).stat()
    return hashed(FORMAT, core().__version__, file.st_size, file.st_mtime_ns).hex()


def keep(obj: bpy.types.Object, flesh: Flesh | None) -> bytes | None:
    """Returns what is to be kept of the flesh of an object; None where it is not worth it, or not up to date."""
    if flesh is None or flesh.clip is None or flesh.condition.clip is not Clip.CURRENT or not flesh.condition.trusted:
        return None
    if flesh.group_key or flesh.modal or flesh.automatic is None or not flesh.clip_key:
        return None  # made with others, quicker to make than to keep, or simulated elsewhere
    motion = flesh.motion
    clips = flesh.clip.clips if hasattr(flesh.clip, "clips") else [flesh.clip]
    try:
        files = {f"clip{k}": stored(clip) for k, clip in enumerate(clips)}
        files["automatic"] = stored(flesh.automatic)
        if flesh.reference is not flesh.automatic:
            files["reference"] = stored(flesh.reference)
    except (core().ThewError, OSError):
        return None
    known = not motion.moving and not motion.colliders.asked
    meta = {
        "stamp": stamp(), "keys": {name: getattr(flesh, name).hex() for name in KEYS}, "defects": flesh.defects,
        "stiffness": flesh.stiffness, "bones": flesh.character.bones, "start": motion.start, "motion": motion.digest.hex(),
        "known": known, "limited": flesh.limited, "skin": flesh.skin_notes,
    }  # fmt: skip
    arrays = {"maps": motion.maps, "matrices": motion.matrices, "raw": motion.raw, "controls": motion.controls}
    if known and motion.before is not None:
        arrays |= {"before": motion.before.maps, "before_controls": motion.before.controls}
    content = io.BytesIO()
    np.savez(content, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **files, **(arrays if known else {}))
    return content.getvalue()


def stored(item: Any) -> np.ndarray:
    """Returns the bytes of a body or a clip as the core writes them, uint8[n]."""
    with tempfile.TemporaryDirectory(prefix="thew-") as scratch:
        path = Path(scratch) / "item"
        item.save(path)
        return np.frombuffer(path.read_bytes(), np.uint8)


def loaded(kind: Any, content: np.ndarray) -> Any:
    """Returns the body or clip (`kind` is the class) of those bytes."""
    with tempfile.TemporaryDirectory(prefix="thew-") as scratch:
        path = Path(scratch) / "item"
        path.write_bytes(content.tobytes())
        return kind.load(path)


@dataclass
class Kept:
    """What was kept and still holds: stages as an update would have left them."""

    known: Flesh  # the stages of the body, with their keys
    motions: simulating.KeptClips | None = None  # one turn of a cycle or all, and what follows a cycle
    motion: poses.Motion | None = None  # the poses, where they are to be believed


def found(obj, scene, subject, character, bind_pose, build_settings: BuildSettings, frames) -> Task:
    """A task that gives the `Kept` of an object; None where nothing is kept, or nothing of it holds."""
    if build_settings.others or build_settings.method == modal.METHOD or obj.thew.cache == "NONE":
        return None
    content = cache_files.read(obj)
    if not content:
        return None
    marked, bones = poses.marked_cycle(subject, scene), len(subject.armature.pose.bones)
    moving = rig_controls.moving(obj)

    def open_it(_progress):
        try:
            kept = opened(content, character, bind_pose, build_settings)
            if kept is not None and kept.motion is not None:
                kept.motion.marked = marked
                wide = kept.motion.raw.shape[1] == 16 * bones + 32 and not moving and not build_settings.collides_with
                led = kept.motion.led >= build_settings.lead
                if not (wide and led) or frames is None or not within(kept.motion, frames):
                    kept.motion = None
            return kept
        except (core().ThewError, OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError, MemoryError):
            return None  # damaged or foreign: it is made anew

    return (yield Work("Opening the cache", open_it, 0.0, 0.1))


def within(motion: poses.Motion, frames: tuple[int, int]) -> bool:
    """Whether a motion begins at the first of `frames` and holds the last."""
    return motion.start == frames[0] and motion.start + len(motion.maps) - 2 >= frames[1]


def opened(content: bytes, character, bind_pose, build_settings: BuildSettings) -> Kept | None:
    """Returns what holds of the content of a kept file; raises whatever reading damaged ones raises."""
    thew = core()
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        meta = parsed(file["meta"].tobytes())
        keys = {name: bytes.fromhex(meta["keys"][name]) for name in KEYS}
        if meta["stamp"] != stamp() or meta["bones"] != character.bones:
            return None
        new = Built(character=character, bind_pose=bind_pose, build_settings=build_settings)
        set_keys(new)
        if any(keys[name] != getattr(new, name) for name in KEYS[:3]):
            return None
        known = Flesh()
        known.automatic = loaded(thew.Body, file["automatic"])
        known.reference = loaded(thew.Body, file["reference"]) if "reference" in file else known.automatic
        known.surface, known.skeleton, known.lattice = (
            getattr(known.automatic, n) for n in ("surface", "skeleton", "lattice")
        )
        known.defects, known.skin_notes = meta["defects"], meta["skin"]
        told = [*known.defects, *known.skin_notes]
        if len(known.surface.vertices) != len(character.rest) or not all(isinstance(x, str) for x in told):
            return None
        known.lattice_key, known.automatic_key, known.flesh_key = (keys[name] for name in KEYS[:3])
        kept = Kept(known)
        if keys["body_key"] != new.body_key:
            return kept
        clips = [loaded(thew.Clip, file[name]) for name in ("clip0", "clip1") if name in file]
        known.body, known.body_key, known.stiffness = clips[0].body, keys["body_key"], float(meta["stiffness"])
        kept.motions = simulating.KeptClips(clips, keys["clip_key"], int(meta["limited"]))
        if meta["known"]:
            names = ("maps", "matrices", "raw", "controls")
            maps, matrices, raw, controls = (np.ascontiguousarray(file[name]) for name in names)
            motion = poses.Motion(
                int(meta["start"]), maps, matrices, raw, poses.digest_of(maps, matrices), controls, ()
            )
            if "before" in file:
                motion.before = poses.Before(np.ascontiguousarray(file["before"]), file["before_controls"])
                if motion.before.maps.shape[1:] != maps.shape[1:] or len(motion.before.controls) != len(motion.before):
                    return kept
            count = len(maps)
            shaped = maps.shape == (count, len(character.bones), 4, 4) and matrices.shape == (count, 4, 4)
            shaped = shaped and raw.ndim == 2 and controls.ndim == 2 and len(raw) == len(controls) == count > 1
            if shaped and all(np.isfinite(each).all() for each in (maps, matrices)) and raw.dtype == np.float32:
                kept.motion = motion if motion.digest.hex() == meta["motion"] else None
        return kept
