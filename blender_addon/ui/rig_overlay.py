# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of the active object's rigs at their true size on the posed character; the active rig is brighter."""

from __future__ import annotations

from contextlib import suppress

import bpy
import numpy as np

from ..edit import posed_character
from ..live import target
from ..live.flesh import Flesh
from ..live.session import register as fleshes
from ..logic import sculpted_rigs, spindles
from ..logic.errors import Refusal
from ..logic.guides import carried_frame, ridden_frame
from ..logic.native import core
from ..rigs import fingerprints, rigging
from ..rigs.muscles import MuscleAttachment
from ..saved.rigs import are_in_force
from .viewing import Drawing, Overlay, draw_all

ACTIVE_COLOUR, OTHER_COLOUR = (1.0, 0.8, 0.25, 1.0), (0.95, 0.65, 0.2, 0.45)
OFF_COLOUR, PROBLEM_COLOUR = (0.6, 0.6, 0.6, 0.35), (1.0, 0.25, 0.2, 0.8)
#: Kinds of rigs that are drawn only while they are active: hundreds of points would hide the skin.
DRAWN_WHEN_ACTIVE = {"SCULPTED"}
#: Number of points of a sculpted rig that are drawn: some thousand hide the skin. And their size in pixels.
MAX_POINTS, POINT_SIZE = 400, 3.0
#: Length of an offset, over the largest, below which a point holds the skin still and has no line.
HOLDING_SHARE = 0.05
GHOST_COLOUR = (0.4, 1.0, 0.7, 0.95)

#: Edges of a muscle's outline.
SPINDLE_EDGES = spindles.edges()

#: Results of `rest_shape` and `rest_spindle` by their arguments: (body, result).
_rest: dict[tuple, tuple] = {}


def drawings(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Drawing]:
    """Returns the drawings of the rigs of `obj`: an outline each, and a thin line to its attachment; of an active sculpted rig its points."""
    flesh = fleshes.known_state(obj)
    if flesh is None or flesh.body is None or not len(obj.thew.rigs):
        return []
    pose = posed_character.current_pose(obj, flesh, depsgraph)
    mesh = obj.evaluated_get(depsgraph)
    attachments = known_attachments(obj, flesh)
    found = []
    for i, (rig, on) in enumerate(zip(obj.thew.rigs, are_in_force(obj), strict=True)):
        chosen = i == obj.thew.active_rig
        try:
            attachment = attachments.get(i) or rigging.find_attachment(
                obj, flesh.character, flesh.bind_pose, flesh.place, rig
            )
            lines, guide = LINES_BY_KIND[rig.kind](flesh, rig, attachment, float(pose.controls[i]), pose.maps, mesh)
        except (Refusal, core().ThewError, AttributeError):  # Blender forbids a draw handler to store a bone's new name
            continue  # a rig without an attachment is not drawn: its row in the list says why
        colour = PROBLEM_COLOUR if rig.problem else OFF_COLOUR if not on else ACTIVE_COLOUR if chosen else OTHER_COLOUR
        if rig.kind in DRAWN_WHEN_ACTIVE and not chosen:
            continue
        found.append((lines, colour, 2.0 if chosen else 1.2))
        found.append((guide, colour[:3] + (0.6 * colour[3],), 1.0 if guide.ndim == 3 else POINT_SIZE))
    return found


def known_attachments(obj, flesh: Flesh) -> dict[int, rigging.Attachment]:
    """Returns the attachments found when the flesh was built, by rig index. Empty if they have changed since."""
    if fingerprints.attachments(fingerprints.fingerprint(obj)) != fingerprints.attachments(flesh.build_settings.rigs):
        return {}
    return {rig.index: rig.attachment for rig in flesh.rigs if rig.attachment is not None}


def rig_lines(
    flesh: Flesh, rig, attachment: rigging.Attachment, control: float, maps: np.ndarray, mesh
) -> tuple[np.ndarray, np.ndarray]:
    """Returns (outline [m, 2, 3], line to the bone or the skin [1 or 0, 2, 3]) of one rig, Blender's world.

    maps: T_b [b, 4, 4]; mesh: the evaluated object, on whose triangles rigs in the skin ride.
    """
    place = flesh.place_at(np.array(mesh.matrix_world, dtype=np.float64))
    parameters = rigging.current_parameters(rig, control, flesh.place.metres_per_unit)
    frame, weights, to, shape = rest_shape(flesh, attachment, parameters)
    middle = frame[:3, 3]
    if attachment.guide == "SKIN" and len(mesh.data.vertices) == len(flesh.character.rest):
        corners = np.asarray(flesh.surface.triangles)[attachment.triangle]
        shown = [mesh.matrix_world @ mesh.data.vertices[corner].co for corner in corners.tolist()]
        rest = np.asarray(flesh.surface.vertices)[corners]
        there = ridden_frame(frame, np.array(attachment.barycentric), rest, place.points(np.array(shown)))
    else:
        there = carried_frame(frame, weights, place.maps(maps, flesh.place))
    lines = shape @ there[:3, :3].T + there[:3, 3]
    guide = np.empty((0, 2, 3))
    if to is not None:
        guide = ((np.stack([middle, to]) - middle) @ (there[:3, :3] @ frame[:3, :3].T).T + there[:3, 3])[None]
    return place.world(lines), place.world(guide)


def sculpt_lines(
    flesh: Flesh, rig, _attachment, control: float, maps: np.ndarray, _mesh
) -> tuple[np.ndarray, np.ndarray]:
    """Returns what a sculpted rig holds: (the offsets of points that it moves, at the control [m, 2, 3], all points [k, 3]), Blender's
    world. They are the first `MAX_POINTS`, which lie farthest apart.

    maps: T_b [b, 4, 4], which carry each point with its bone.
    """
    points, offsets, names = (each[:MAX_POINTS] for each in sculpted_rigs.whole_shape(rig.sculpt))
    places = {name: i for i, name in enumerate(flesh.character.bones)}
    known = np.array([name in places for name in names], dtype=bool)
    own = maps[[places[name] for name in names if name in places]].reshape(-1, 4, 4)
    points, offsets = points[known], offsets[known]
    shown = np.einsum("pij,pj->pi", own[:, :3, :3], points) + own[:, :3, 3]
    moved = np.einsum("pij,pj->pi", own[:, :3, :3], offsets) * np.clip(control, 0.0, 1.0)
    lengths = np.linalg.norm(offsets, axis=1)
    ends = np.stack([shown, shown + moved], axis=1)
    return ends[lengths > HOLDING_SHARE * lengths.max(initial=0.0)], ends[:, 1]


def muscle_lines(
    flesh: Flesh, rig, attachment: MuscleAttachment, control: float, maps: np.ndarray, mesh
) -> tuple[np.ndarray, np.ndarray]:
    """Returns (spindle [m, 2, 3], lines from its ends to their bones [2, 2, 3]) of a muscle, Blender's world.

    The spindle is as wide as the muscle's contraction makes it where nothing holds it, and moves with the bones of its flesh.
    """
    place = flesh.place_at(np.array(mesh.matrix_world, dtype=np.float64))
    parameters = rigging.current_parameters(rig, control, flesh.place.metres_per_unit)
    maps = place.maps(maps, flesh.place)
    rest, weights = rest_spindle(flesh, attachment, parameters)
    ends = np.stack([rest[0], rest[-1]])
    carried = carried_points(rest, weights, maps)
    lines = np.stack([carried[SPINDLE_EDGES[:, 0]], carried[SPINDLE_EDGES[:, 1]]], axis=1)
    skeleton = flesh.skeleton
    guides = []
    for index, end, there in zip((attachment.origin, attachment.insertion), ends, carried[[0, -1]], strict=True):
        head, tail = np.asarray(skeleton.heads)[index], np.asarray(skeleton.tails)[index]
        foot = head + np.clip((end - head) @ (tail - head) / max((tail - head) @ (tail - head), 1e-30), 0, 1) * (
            tail - head
        )
        matrix = maps[index]
        guides.append([there, matrix[:3, :3] @ foot + matrix[:3, 3]])
    return place.world(lines), place.world(np.array(guides))


#: Drawing function of a rig, by its kind.
LINES_BY_KIND = {"FORCE": rig_lines, "SCULPTED": sculpt_lines, "MUSCLE": muscle_lines}


def rest_spindle(flesh: Flesh, attachment: MuscleAttachment, parameters: dict[str, float]):
    """Returns (points of a muscle's outline [p, 3], their bone weights [p, b]) at rest, cached for the next drawing."""
    key = (attachment, tuple(parameters.values()))
    known = _rest.get(key)
    if known is None or known[0] is not flesh.body:
        _rest.clear() if len(_rest) > 256 else None
        line = core().muscle_line(attachment.native(core(), parameters), flesh.body, spindles.ALONG)
        outline = spindles.points(np.asarray(line), parameters["contraction"])
        indices, shares = flesh.lattice.embed(outline)
        regions = np.asarray(flesh.body.region_weights)
        weights = np.einsum("pk,pkb->pb", shares, regions[np.maximum(indices, 0)])
        known = _rest[key] = (flesh.body, (outline, weights))
    return known[1]


def carried_points(points: np.ndarray, weights: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Returns points [p, 3] moved by the blend of the bones' maps [b, 4, 4], weights [p, b]."""
    blended = np.einsum("pb,bij->pij", weights, maps[:, :3])
    return np.einsum("pij,pj->pi", blended[:, :, :3], points) + blended[:, :, 3]


def rest_shape(flesh: Flesh, attachment: rigging.Attachment, parameters: dict[str, float]):
    """Returns (frame [4, 4], bone weights of its middle [b], attachment point, outline [m, 2, 3]) at rest, cached for the next drawing."""
    key = (attachment, tuple(parameters.values()))
    known = _rest.get(key)
    if known is None or known[0] is not flesh.body:
        _rest.clear() if len(_rest) > 256 else None
        native = attachment.native(core(), parameters)
        frame = np.asarray(native.frame(flesh.body))
        weights = posed_character.region_weights(flesh, frame[:3, 3])
        known = (
            flesh.body,
            (frame, weights, attachment_point(flesh, attachment, frame[:3, 3]), native.template.outline()),
        )
        _rest[key] = known
    return known[1]


def attachment_point(flesh: Flesh, attachment: rigging.Attachment, middle: np.ndarray) -> np.ndarray | None:
    """Returns the point of the bone or skin to which a template at `middle` is attached, metres at rest. `None` if free."""
    if attachment.guide == "BONE":
        head, tail = (np.asarray(ends)[attachment.bone] for ends in (flesh.skeleton.heads, flesh.skeleton.tails))
        bone = tail - head
        length = float(bone @ bone)
        part = float((middle - head) @ bone) / length if length > 0.0 else 0.0
        return head + part * bone
    if attachment.guide == "SKIN":
        corners = np.asarray(flesh.surface.triangles)[attachment.triangle]
        return np.array(attachment.barycentric) @ np.asarray(flesh.surface.vertices)[corners]
    return None


def draw(context: bpy.types.Context) -> None:
    """Draws the rigs of the target object."""
    obj = target.target_mesh(context)
    if obj is None or obj.type != "MESH" or not obj.thew.made.flesh or not obj.visible_get():
        return
    with suppress(Refusal):  # the panel shows why
        draw_all(drawings(obj, context.view_layer.depsgraph))


OVERLAYS = (Overlay(draw, _rest),)
