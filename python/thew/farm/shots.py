# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs on shots: a clip, and the caches that were asked for beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import Cancelled, Clip, InputError, MotionError, Shot, ThewError, bakes
from .jobs import Call, Job, JobResult
from .scene_frames import ShownFrame, shown_frames


def simulate(call: Call, part: Path) -> JobResult:
    """Simulates the shot of a job with its settings, and writes the results into a folder. Raises what Thew raises."""
    job, end = call.job, time.monotonic() + (call.timeout or math.inf)
    shot = load(job)
    try:
        clip = shot.simulate(lambda _fraction, _stage: time.monotonic() < end)
    except Cancelled as error:
        raise MotionError(call.overdue()) from error
    files = [f"{job.name}.clip.thew"]
    clip.save(part / files[0])
    shown = shown_frames(clip, job.first_pose)
    if job.targets[1:]:
        cached = np.stack([clip.positions(each.index, to=each.space) for each in shown])
    for target in job.targets[1:]:
        files.append(f"{job.name}.{target}")
        if target == "pc2":
            bakes.write_pc2(part / files[-1], cached, start=float(shown[0].frame))
        else:
            bakes.write_mdd(part / files[-1], cached, shot.fps)
    warnings = [f"{warning}." for warning in clip.warnings] + [f"{note}." for note in clip.contact_notes()]
    return JobResult(files, "", len(shown), warnings, worst_frame(clip, shown))


def load(job: Job) -> Shot:
    """Reads the shot of a job and changes what the job sets. Raises StorageError and InputError."""
    shot = Shot.load(job.file)
    changes: dict[str, Any] = dict(job.settings)
    if job.frames is not None:
        changes["frames"] = range(job.frames[0], job.frames[1] + 1)
    try:
        return shot.replace(**changes) if changes else shot
    except TypeError as error:
        raise InputError(
            f"{', '.join(changes)}: this version of Thew cannot change that of a shot ({error})"
        ) from error


def count_poses(file: str) -> int | None:
    """Returns the number of poses of a shot; None for a file that cannot be read, of which its job will tell."""
    try:
        return len(Shot.load(file))
    except ThewError:
        return None


def worst_frame(clip: Clip, shown: Sequence[ShownFrame]) -> dict[str, Any] | None:
    """Returns the shown frame with the most inverted cells, and among equal ones with the skin farthest from plain skinning."""
    if not shown:
        return None
    inverted, away = np.asarray(clip.inverted_cells), np.asarray(clip.max_skin_deviations)
    worst = max(shown, key=lambda each: (inverted[each.index], away[each.index]))
    return {
        "frame": worst.frame,
        "index": worst.index,
        "inverted_cells": int(inverted[worst.index]),
        "distance": float(away[worst.index]),
    }
