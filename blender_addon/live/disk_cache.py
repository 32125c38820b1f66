# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk cache of flesh, with which a reopened file shows its flesh at once.

The cache holds the key of every stage, a hash of all that the stage depends on. Keys are computed anew from the file; a stage with
another key is rebuilt. Only the poses are trusted without being read: each frame that is shown compares them with Blender's
evaluation, and renders, bakes and Simulate read them again.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..logic import modal
from ..logic.digests import digest_of
from ..logic.json_text import parse_json
from ..logic.native import core
from ..logic.states import Clip
from ..logic.tasks import Task, Work
from ..scene import animation, cache_files, poses, rig_controls
from ..scene.own_skin import own_pose_bones
from . import simulating
from .build_settings import BuildSettings, hash_of
from .flesh import BuildStages, Flesh
from .stages import set_keys

#: Version of the cache's layout.
CACHE_VERSION = 2
#: Names of the keys in the cache.
CACHE_KEYS = ("lattice_key", "automatic_key", "flesh_key", "body_key", "clip_key")


def stamp() -> str:
    """Returns the identity of this build of the core; other builds may compute other motions."""
    file = Path(core()._thew.__file__).stat()
    return hash_of(CACHE_VERSION, core().__version__, file.st_size, file.st_mtime_ns).hex()


def cache_content(flesh: Flesh | None) -> bytes | None:
    """Returns the cache content of an object's flesh; None where it is out of date or not worth caching."""
    if (
        flesh is None
        or flesh.clip is None
        or flesh.condition.clip is not Clip.CURRENT
        or not flesh.condition.is_trusted
    ):
        return None
    if flesh.group_key or flesh.modal or flesh.automatic is None or not flesh.clip_key:
        return None  # made with others, quicker to make than to store, or simulated elsewhere
    motion = flesh.motion
    clips = flesh.clip.clips if hasattr(flesh.clip, "clips") else [flesh.clip]
    try:
        files = {f"clip{k}": encode(clip) for k, clip in enumerate(clips)}
        files["automatic"] = encode(flesh.automatic)
        if flesh.reference is not flesh.automatic:
            files["reference"] = encode(flesh.reference)
    except (core().ThewError, OSError):
        return None
    known = not (motion.moving or motion.colliders.reading_keys or motion.pinned)
    meta = {
        "stamp": stamp(), "keys": {name: getattr(flesh, name).hex() for name in CACHE_KEYS}, "defects": flesh.defects,
        "stiffness": flesh.stiffness, "bones": flesh.character.bones, "start": motion.start, "motion": motion.digest.hex(),
        "known": known, "limited": flesh.inverted_count, "skin": flesh.skin_notes,
    }  # fmt: skip
    arrays = {"maps": motion.maps, "matrices": motion.matrices, "raw": motion.raw, "controls": motion.controls}
    if known and motion.before is not None:
        arrays |= {"before": motion.before.maps, "before_controls": motion.before.controls}
    content = io.BytesIO()
    np.savez(content, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **files, **(arrays if known else {}))
    return content.getvalue()


def encode(item: Any) -> np.ndarray:
    """Returns a body or clip in the core's file format, uint8[n]."""
    with tempfile.TemporaryDirectory(prefix="thew-") as scratch:
        path = Path(scratch) / "item"
        item.save(path)
        return np.frombuffer(path.read_bytes(), np.uint8)


def decode(kind: Any, content: np.ndarray) -> Any:
    """Returns the body or clip (`kind` is the class) in bytes that `encode` made."""
    with tempfile.TemporaryDirectory(prefix="thew-") as scratch:
        path = Path(scratch) / "item"
        path.write_bytes(content.tobytes())
        return kind.load(path)


@dataclass
class CachedStages:
    """Valid content of a cache: stages as an update would have left them."""

    known: Flesh  # stages of the body, with their keys
    motions: simulating.KeptClips | None = None  # one turn of a cycle, or all; and the motion that follows a cycle
    motion: poses.Motion | None = None  # the poses; None where they are not to be trusted


def find_cached(obj, scene, subject, character, bind_pose, build_settings: BuildSettings, frames) -> Task:
    """Builds a task that returns the `CachedStages` of an object; None where the cache is empty or out of date."""
    if build_settings.others or build_settings.method == modal.METHOD or obj.thew.cache == "NONE":
        return None
    content = cache_files.read(obj)
    if not content:
        return None
    marked, bones = poses.marked_cycle(subject, scene), len(own_pose_bones(subject.armature))
    end = animation.last_key(subject.armature, scene)
    moving = rig_controls.control_animation(obj)

    def open_kept(_progress):
        try:
            kept = open_content(content, character, bind_pose, build_settings)
            if kept is not None and kept.motion is not None:
                kept.motion.marked, kept.motion.keyed_to = marked, end
                wide = kept.motion.raw.shape[1] == 16 * bones + 32 and not (
                    moving or build_settings.collides_with or build_settings.pins
                )
                led = kept.motion.lead_length >= build_settings.lead
                if not (wide and led) or frames is None or not covers_frames(kept.motion, frames):
                    kept.motion = None
            return kept
        except (core().ThewError, OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError, MemoryError):
            return None  # damaged or foreign: all is made anew

    return (yield Work("Opening the cache", open_kept, 0.0, 0.1))


def covers_frames(motion: poses.Motion, frames: tuple[int, int]) -> bool:
    """Returns whether a motion begins at the first of `frames` and holds the last."""
    return motion.start == frames[0] and motion.start + len(motion.maps) - 2 >= frames[1]


def open_content(content: bytes, character, bind_pose, build_settings: BuildSettings) -> CachedStages | None:
    """Returns the valid part of a cache's content; damaged content raises the errors of its readers."""
    thew = core()
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        meta = parse_json(file["meta"].tobytes())
        keys = {name: bytes.fromhex(meta["keys"][name]) for name in CACHE_KEYS}
        if meta["stamp"] != stamp() or meta["bones"] != character.bones:
            return None
        new = BuildStages(character=character, bind_pose=bind_pose, build_settings=build_settings)
        set_keys(new)
        if any(keys[name] != getattr(new, name) for name in CACHE_KEYS[:3]):
            return None
        known = Flesh()
        known.automatic = decode(thew.Body, file["automatic"])
        known.reference = decode(thew.Body, file["reference"]) if "reference" in file else known.automatic
        known.surface, known.skeleton, known.lattice = (
            getattr(known.automatic, n) for n in ("surface", "skeleton", "lattice")
        )
        known.defects, known.skin_notes = meta["defects"], meta["skin"]
        told = [*known.defects, *known.skin_notes]
        if len(known.surface.vertices) != len(character.rest) or not all(isinstance(x, str) for x in told):
            return None
        known.lattice_key, known.automatic_key, known.flesh_key = (keys[name] for name in CACHE_KEYS[:3])
        kept = CachedStages(known)
        if keys["body_key"] != new.body_key:
            return kept
        clips = [decode(thew.Clip, file[name]) for name in ("clip0", "clip1") if name in file]
        known.body, known.body_key, known.stiffness = clips[0].body, keys["body_key"], float(meta["stiffness"])
        kept.motions = simulating.KeptClips(clips, keys["clip_key"], int(meta["limited"]))
        if meta["known"]:
            names = ("maps", "matrices", "raw", "controls")
            maps, matrices, raw, controls = (np.ascontiguousarray(file[name]) for name in names)
            motion = poses.Motion(int(meta["start"]), maps, matrices, raw, digest_of(maps, matrices), controls, ())
            if "before" in file:
                motion.before = poses.LeadPoses(np.ascontiguousarray(file["before"]), file["before_controls"])
                if motion.before.maps.shape[1:] != maps.shape[1:] or len(motion.before.controls) != len(motion.before):
                    return kept
            count = len(maps)
            shaped = maps.shape == (count, len(character.bones), 4, 4) and matrices.shape == (count, 4, 4)
            shaped = shaped and raw.ndim == 2 and controls.ndim == 2 and len(raw) == len(controls) == count > 1
            if shaped and all(np.isfinite(each).all() for each in (maps, matrices)) and raw.dtype == np.float32:
                kept.motion = motion if motion.digest.hex() == meta["motion"] else None
        return kept
