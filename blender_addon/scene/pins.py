# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins in the scene: where their targets are, what is wrong with them, and the places of points to pin."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

import bpy
import numpy as np

from ..logic import belts
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.pins import TARGET_NUMBERS, PinPoints, target_row
from ..saved.pins import ThewPin
from . import animation, frame_dependence
from .mesh import basis_positions, mesh_positions

#: Data path of a pin's property.
PIN_PATH = re.compile(r"^thew\.pins\[(\d+)\](.*)$")
#: The same by the pin's name, as scripts and drivers may write it.
NAMED_PATH = re.compile(r'^thew\.pins\["((?:[^"\\]|\\.)*)"\]')
#: Letters of the text of one point at least.
MIN_POINTS_TEXT = 16
#: Weight in a painted group above which a vertex is pinned.
MIN_WEIGHT = 0.5
#: Digits of a target's own place, scene units: a move of a hundredth of a millimetre counts.
PLACE_DIGITS = 5
#: Points of a painted group that a pin keeps; the flesh is then held at fewer.
MAX_KEPT_POINTS = 2000


def problem(obj: bpy.types.Object, pin: ThewPin) -> str:
    """Returns why a pin holds nothing, or ""."""
    if pin.target is None:
        return f"The pin “{pin.name}” of {describe(obj)} has lost its target: choose another object, or remove the pin"
    if pin.target.name not in bpy.context.scene.objects:
        return f"{describe(pin.target)} is not in this scene, so the pin “{pin.name}” holds nothing: link it, or choose another target"
    if pin.bone and (pin.target.type != "ARMATURE" or pin.bone not in pin.target.data.bones):
        return f"The pin “{pin.name}” looks for the bone “{pin.bone}”, which {describe(pin.target)} does not have: choose another"
    if len(pin.points) < MIN_POINTS_TEXT:
        return f"The pin “{pin.name}” of {describe(obj)} has no points: remove it and pin again"
    return ""


def problems(obj: bpy.types.Object) -> list[str]:
    """Returns what is wrong with the pins of a mesh."""
    return [text for pin in obj.thew.pins if (text := problem(obj, pin))]


def target_matrix(pin: ThewPin, depsgraph: bpy.types.Depsgraph) -> np.ndarray | None:
    """Returns the world matrix of a pin's target, as evaluated; None where it is lost."""
    target = pin.target
    if target is None:
        return None
    evaluated = target.evaluated_get(depsgraph)
    matrix = np.array(evaluated.matrix_world, dtype=np.float64)
    if not pin.bone:
        return matrix
    bone = evaluated.pose.bones.get(pin.bone) if evaluated.type == "ARMATURE" else None
    return None if bone is None else matrix @ np.array(bone.matrix, dtype=np.float64)


def holding_matrix(pin: ThewPin, now: ThewPin, depsgraph: bpy.types.Depsgraph) -> np.ndarray | None:
    """Returns the world matrix that holds a pin's points: of its target, after the girth of a belt. `now`: the evaluated pin."""
    matrix = target_matrix(pin, depsgraph)
    return None if matrix is None else matrix @ belts.girth_map(pin.points, np.array(pin.belt_axis), float(now.girth))


def evaluated_pins(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Returns the targets of all pins at the frame that `depsgraph` has evaluated, [p, 17]: see `logic.pins.target_row`."""
    pins = obj.thew.pins
    if not len(pins):
        return np.empty((0, TARGET_NUMBERS))
    moved = obj.evaluated_get(depsgraph).thew.pins if pin_curves(obj) else pins
    rows = [
        target_row(None if problem(obj, pin) else holding_matrix(pin, now, depsgraph), float(now.influence))
        for pin, now in zip(pins, moved, strict=True)
    ]
    return np.stack(rows)


def pin_curves(obj: bpy.types.Object) -> list[bpy.types.FCurve]:
    """Returns the curves and drivers that move influences and girths of the object's pins."""
    data = obj.animation_data
    if data is None or not len(obj.thew.pins):
        return []
    return [curve for curve in animation.curves(data) if curve.data_path.startswith("thew.pins[")]


def keyed_pins(obj: bpy.types.Object) -> set[tuple[int, str]]:
    """Returns what of the pins is keyed or driven: the index of a pin and "influence" or "girth"."""
    found = set()
    for curve in pin_curves(obj):
        index, name = PIN_PATH.match(curve.data_path), NAMED_PATH.match(curve.data_path)
        value = curve.data_path.rpartition(".")[2]
        if index is not None:
            found.add((int(index[1]), value))
        elif name is not None:
            found.add((obj.thew.pins.find(bpy.utils.unescape_identifier(name[1])), value))
    return found


def differ(obj: bpy.types.Object, then: np.ndarray, depsgraph: bpy.types.Depsgraph, by_hand: bool = False) -> bool:
    """Returns whether a pin differs from its row of `then` [p, 17], which was read at the present frame.

    `by_hand`: only what nothing animates counts. What is animated and edited without a key goes back to its keys at the next frame.
    """
    now = evaluated_pins(obj, depsgraph)
    if now.shape != then.shape:
        return True
    differs = ~np.isclose(now, then, rtol=1e-5, atol=1e-6)
    if not by_hand or not differs.any():
        return bool(differs.any())
    keyed = keyed_pins(obj)
    for k, pin in enumerate(obj.thew.pins):
        is_carried = pin.target is not None and frame_dependence.is_carried(pin.target)
        placed = differs[k, :-1].any() and not is_carried and (k, "girth") not in keyed
        if placed or (differs[k, -1] and (k, "influence") not in keyed):
            return True
    return False


def drop_curves(obj: bpy.types.Object, index: int) -> None:
    """Removes the curves and drivers of a pin; those of later pins move up by one, as their pins do."""
    data = obj.animation_data
    if data is None:
        return
    for collection in (animation.curves_in(data), data.drivers):
        for curve in list(collection):
            match = PIN_PATH.match(curve.data_path)
            if match is None or int(match[1]) < index:
                continue
            if int(match[1]) == index:
                collection.remove(curve)
            else:
                curve.data_path = f"thew.pins[{int(match[1]) - 1}]{match[2]}"


def fingerprint(obj: bpy.types.Object) -> tuple:
    """Returns what the pins of a mesh are, for comparison; () without pins."""
    keyed = keyed_pins(obj)
    return tuple(
        (
            pin.name,
            pin.target.name if pin.target is not None else "",
            pin.bone,
            pin.points,
            tuple(
                "keyed" if (k, name) in keyed else round(float(getattr(pin, name)), 6)
                for name in ("influence", "girth")
            ),
            problem(obj, pin),
            own_place(pin.target),
        )
        for k, pin in enumerate(obj.thew.pins)
    )


def own_place(target: bpy.types.Object | None) -> tuple[float, ...]:
    """Returns where a target stands in the space of its parent, for comparison; () where its own animation moves it there."""
    if target is None or frame_dependence.moves_in_parent(target):
        return ()
    rows = (*target.matrix_parent_inverse, *target.matrix_basis)
    return tuple(round(float(value), PLACE_DIGITS) for row in rows for value in row)


# making ---------------------------------------------------------------------------------------------------------------


def rest_places(obj: bpy.types.Object) -> np.ndarray:
    """Returns the vertices of the mesh at rest, its own space, [n, 3]."""
    return basis_positions(obj.data).astype(np.float64)


def shown_places(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Returns the vertices as they are shown, Blender's world, [n, 3]; refuses modifiers that change their number."""
    evaluated = obj.evaluated_get(depsgraph)
    shown = mesh_positions(evaluated.data).astype(np.float64)
    if len(shown) != len(obj.data.vertices):
        raise Refusal(
            f"Modifiers change the vertices of {describe(obj)}, so that none can be found in the view: switch them off while you pin"
        )
    matrix = np.array(evaluated.matrix_world, dtype=np.float64)
    return shown @ matrix[:3, :3].T + matrix[:3, 3]


def group_vertices(obj: bpy.types.Object, name: str) -> np.ndarray:
    """Returns the vertices in a painted group; refuses a group that is missing or empty."""
    group = obj.vertex_groups.get(name)
    if group is None:
        raise Refusal(f"{describe(obj)} has no vertex group “{name}”: paint one, or choose another")
    index, found = group.index, []
    for vertex in obj.data.vertices:
        if any(each.group == index and each.weight >= MIN_WEIGHT for each in vertex.groups):
            found.append(vertex.index)
    if not found:
        raise Refusal(
            f"The vertex group “{name}” of {describe(obj)} is empty: paint a weight of a half or more where the flesh is to be held"
        )
    step = -(-len(found) // MAX_KEPT_POINTS)
    return np.array(found[::step])


def attach(obj: bpy.types.Object, pin: ThewPin, depsgraph: bpy.types.Depsgraph) -> None:
    """Lets the target of a pin hold the points as they lie now; leaves them where that cannot be."""
    points, matrix = PinPoints.from_text(pin.points), None if problem(obj, pin) else target_matrix(pin, depsgraph)
    if not len(points) or matrix is None:
        return
    rest = rest_places(obj)
    vertices = points.present_vertices(rest, float(np.linalg.norm(np.ptp(rest, axis=0))))
    if (vertices < 0).any():
        return
    with suppress(Refusal):  # what is wrong is told where it is in the way
        held = points_on(obj, vertices, matrix, depsgraph)
        if any(pin.belt_axis):
            axis = belts.turned(np.array(pin.belt_axis), points.local, held.local)
            wider = belts.girth_map(held.text(), axis, 1.0 / float(pin.girth))
            held = replace(held, local=held.local @ wider[:3, :3].T + wider[:3, 3])
            pin.belt_axis = axis
        pin.points = held.text()


def points_on(
    obj: bpy.types.Object, vertices: np.ndarray, target: np.ndarray, depsgraph: bpy.types.Depsgraph
) -> PinPoints:
    """Returns points at `vertices`, held where they are shown now by a target with the world matrix `target`."""
    return points_at(obj, vertices, shown_places(obj, depsgraph)[vertices], target)


def points_at(obj: bpy.types.Object, vertices: np.ndarray, places: np.ndarray, target: np.ndarray) -> PinPoints:
    """Returns points at `vertices`, held at `places` [k, 3] in Blender's world by a target with the world matrix `target`."""
    if not np.isfinite(target).all() or abs(np.linalg.det(target[:3, :3])) < 1e-18:
        raise Refusal("The target is scaled to zero: give it a scale, then pin")
    into = np.linalg.inv(target)
    return PinPoints(vertices, rest_places(obj)[vertices], places @ into[:3, :3].T + into[:3, 3])
