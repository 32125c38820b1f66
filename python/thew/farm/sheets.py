# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contact sheets: the jobs of a row with ranges side by side, at a few frames, below their plain skin. Drawn by Pillow."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import Clip, InputError, ThewError
from . import columns, scene_frames
from .extras import remedy
from .jobs import Job, Record

#: Number of frames on a sheet, and rows of jobs: more become too small to compare.
FRAMES, MAX_ROWS = 6, 24
#: Name of the note in a sheet with the keys of its jobs, by which it is known to be current.
KEYS = "thew jobs"
#: Edge of a picture and width of the labels before each row, pixels.
EDGE, LABEL = 220, 190
#: Oversampling in both directions: Pillow draws polygons without smooth edges.
FINER = 2
PAPER, INK, SKIN, FLESH = (244, 246, 248), (40, 44, 52), (196, 200, 206), (232, 196, 172)
FAR = (52, 96, 214)
"""Colour of flesh at `FAR_AT` from its skin and beyond."""
FAR_AT = 0.05
"""Distance of flesh from its skin that is drawn bluest, as a share of the size."""
#: Azimuth of the viewer from the front towards the character's left, and the angle by which the viewer looks down, radians.
TURN, LIFT = 0.55, 0.2
#: Direction towards the light, in these axes.
LIGHT = np.array([-0.35, 0.55, 0.76])


@dataclass
class Look:
    """Shapes of one job at a few frames."""

    label: str
    frames: list[int]
    triangles: np.ndarray  # [t, 3]
    skin: np.ndarray  # [f, n, 3]
    shown: np.ndarray  # [f, n, 3]


def draw_all(jobs: Sequence[Job], records: Sequence[Record], folder: Path) -> tuple[list[Path], list[str]]:
    """Draws a sheet `NAME.sheet.png` for each row with ranges. Returns the files, and sentences on sheets that cannot be drawn."""
    rows: dict[str, list[tuple[Job, Record]]] = {}
    for job, record in zip(jobs, records, strict=True):
        if job.wedge and record.status != "failed":
            rows.setdefault(job.wedge, []).append((job, record))
    if rows and importlib.util.find_spec("PIL") is None:
        return [], [f"contact sheets need Pillow: {remedy('pillow')}, and give the command again"]
    drawn: list[Path] = []
    sentences: list[str] = []
    for name, row in rows.items():
        file = folder / f"{name}.sheet.png"
        try:
            shown = " ".join(record.key for _, record in row[:MAX_ROWS])
            if _keys_on(file) != shown:
                looks = [look_of(job, record, folder) for job, record in row[:MAX_ROWS]]
                _save(draw(looks), file, shown)
            drawn.append(file)
        except (ThewError, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)  # the system's errors begin with numbers
            sentences.append(f"{file} cannot be drawn: {reason}")
        if len(row) > MAX_ROWS:
            sentences.append(f"{file} shows the first {MAX_ROWS} of {len(row)} jobs")
    return drawn, sentences


def look_of(job: Job, record: Record, folder: Path) -> Look:
    """Reads the shapes of a job from its results."""
    title = "\n".join(f"{name} {columns.label(value).replace('_', ' ')}" for name, value in job.chosen.items())
    paths = {each["path"] for each in record.outputs}
    if (name := f"{job.name}/{job.name}.look.npz") in paths:
        with np.load(folder / name) as data:
            return Look(title, data["frames"].tolist(), data["triangles"], data["skin"], data["shown"])
    if job.kind == "blend":
        raise InputError("its bakes hold no scene's range, as those of actions do not")
    clip = Clip.load(folder / f"{job.name}.clip.thew")
    frames = scene_frames.shown_frames(clip, job.first_pose)
    chosen = [frames[at] for at in chosen_frames(len(frames))]
    shown = np.stack([clip.positions(each.index) for each in chosen]).astype(float)
    skin = shown - np.stack([clip.offsets(each.index) for each in chosen])
    return Look(title, [each.frame for each in chosen], np.asarray(clip.body.surface.triangles), skin, shown)


def chosen_frames(count: int) -> list[int]:
    """Returns evenly spaced frames of a clip. The first, which is mostly at rest, is left out where there are others."""
    return sorted({round(each) for each in np.linspace(0, count - 1, FRAMES + 1)[1:]}) or [0]


def draw(looks: Sequence[Look]) -> Any:
    """Returns the sheet as a picture of Pillow: the plain skin of the first job on top, then a row for each job."""
    from PIL import Image, ImageDraw, ImageFont

    first = looks[0]
    height = 26 + EDGE * (len(looks) + 1)
    sheet = Image.new("RGB", (LABEL + EDGE * len(first.frames), height), PAPER)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for column, frame in enumerate(first.frames):
        pen.text((LABEL + EDGE * column + 8, 5), f"frame {frame}", INK, font)
    legend = f"plain skin\n\n\nflesh below is bluer\nthe farther it is, most\nat {100.0 * FAR_AT:g} % of the size"
    rows = [Look(legend, first.frames, first.triangles, first.skin, first.skin), *looks]
    size = float(np.linalg.norm(np.ptp(first.skin[0], axis=0)))
    half = 0.54 * max(_span(look.skin) for look in looks)
    for number, look in enumerate(rows):
        top = 26 + EDGE * number
        pen.line((0, top, sheet.width, top), (208, 212, 218))
        pen.multiline_text((8, top + 8), look.label, INK, font)
        for column in range(len(first.frames)):
            if column < len(look.frames):
                away = np.linalg.norm(look.shown[column] - look.skin[column], axis=1) / size / FAR_AT
                centre = 0.5 * (look.skin[column].min(axis=0) + look.skin[column].max(axis=0))
                picture = draw_shape(look.shown[column], look.triangles, None if number == 0 else away, centre, half)
                sheet.paste(picture, (LABEL + EDGE * column, top + 1))
    return sheet


def draw_shape(
    points: np.ndarray, triangles: np.ndarray, away: np.ndarray | None, centre: np.ndarray, half: float
) -> Any:
    """Draws triangles from behind to front, those that face the viewer alone. `half`: half the visible width about `centre`.

    `away`: distance of each point from its skin, 1 for the bluest; None: grey skin.
    """
    from PIL import Image, ImageDraw

    fine = (EDGE - 1) * FINER
    seen = (np.nan_to_num(points) - centre) @ _axes().T / max(half, 1e-30)
    corners = seen[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-30)[:, None]
    front = np.flatnonzero(normal[:, 2] > 0.0)
    order = front[np.argsort(corners[front, :, 2].mean(axis=1), kind="stable")]
    light = 0.45 + 0.6 * np.abs(normal[order] @ (LIGHT / np.linalg.norm(LIGHT)))
    if away is None:
        tint = np.broadcast_to(np.array(SKIN, float), (len(order), 3))
    else:
        share = 0.8 * np.clip(np.nan_to_num(away, nan=1.0)[triangles[order]].mean(axis=1), 0.0, 1.0)[:, None]
        tint = np.array(FLESH) + share * (np.array(FAR, float) - FLESH)
    colours = np.clip(tint * light[:, None], 0, 255).astype(int)
    places = (np.stack([corners[order, :, 0] + 1.0, 1.0 - corners[order, :, 1]], axis=2) * fine / 2.0).reshape(-1, 6)
    picture = Image.new("RGB", (fine, fine), PAPER)
    pen = ImageDraw.Draw(picture)
    for place, colour in zip(places.tolist(), colours.tolist(), strict=True):
        pen.polygon(place, tuple(colour))
    return picture.resize((EDGE - 1, EDGE - 1), Image.Resampling.BOX)


def _axes() -> np.ndarray:
    """Returns the directions right, up and towards the viewer as rows. The third axis of the world points up."""
    back = np.array([np.sin(TURN) * np.cos(LIFT), -np.cos(TURN) * np.cos(LIFT), np.sin(LIFT)])
    right = np.array([np.cos(TURN), np.sin(TURN), 0.0])
    return np.stack([right, np.cross(back, right), back])


def _span(skin: np.ndarray) -> float:
    """Returns the largest extent of a frame, as it is seen."""
    seen = skin @ _axes()[:2].T
    return float((seen.max(axis=1) - seen.min(axis=1)).max())


def _keys_on(file: Path) -> str:
    """Returns the keys of the jobs on a sheet; "" if there is none."""
    from PIL import Image

    try:
        with Image.open(file) as picture:
            return str(picture.info.get(KEYS, ""))
    except (OSError, SyntaxError):  # Pillow's word for a damaged PNG
        return ""


def _save(picture: Any, file: Path, shown: str) -> None:
    """Writes a picture with the keys of its jobs, whole or not at all."""
    from PIL import ImageOps
    from PIL.PngImagePlugin import PngInfo

    note = PngInfo()
    note.add_text(KEYS, shown)
    part = file.with_name(f".{file.name}.part")
    try:
        # Shades of 8 look the same here, and take half the room.
        ImageOps.posterize(picture, 5).save(part, "PNG", optimize=True, pnginfo=note)
        part.replace(file)
    except OSError:
        part.unlink(missing_ok=True)
        raise
