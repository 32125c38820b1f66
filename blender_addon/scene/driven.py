# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender to numpy: force fields of the scene and settings that are keyed or driven, read frame by frame along with the poses.

`logic.driven` describes the rows of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np

from ..logic.driven import FALLOFFS, HEAD, KINDS, NUMBERS, SHAPES, SIDES, WEIGHTED, Driven, FieldChoices
from ..saved import validation
from . import animation
from .curve_prints import curve_print, strips_print

#: Settings of an object that may be keyed: data path and default. A driver alone has no value before the frames are read.
KEYABLE = {"influence": 1.0, "softness": 0.5, "field_weight": 1.0}
#: Numbers of a field that rests, apart from zeros.
RESTING = {"size": 1.0, "max_distance": np.inf, "max_radius": np.inf}
#: Standard gravity, Blender's default: for gravity that a driver alone gives, and where no strip acts.
GRAVITY = (0.0, 0.0, -9.81)


def scene_of(obj: bpy.types.Object) -> bpy.types.Scene | None:
    """Returns the scene in which an object lives: the window's, if it is there."""
    scene = getattr(bpy.context, "scene", None)
    if scene is not None and scene.objects.get(obj.name) == obj:
        return scene
    return next(iter(obj.users_scene), None)


def setting_curves(obj: bpy.types.Object, scene: bpy.types.Scene | None) -> Iterator[tuple[str, bpy.types.FCurve]]:
    """Yields the curves and drivers of keyable settings, with the names of these."""
    if obj.animation_data is not None:
        for curve in animation.curves(obj.animation_data):
            name = curve.data_path.removeprefix("thew.")
            if name in KEYABLE and curve.data_path.startswith("thew.") and not curve.mute:
                yield name, curve
    if scene is not None and scene.animation_data is not None and obj.thew.use_gravity and scene.use_gravity:
        for curve in animation.curves(scene.animation_data):
            if curve.data_path == "gravity" and not curve.mute:
                yield "gravity", curve


def value_at(obj: bpy.types.Object, scene: bpy.types.Scene, name: str, frame: int):
    """Returns a setting at a frame by its keys, without evaluating the scene; the present value where it is not animated.

    It serves what is built once: the body of a keyed softness, the shape that sags under keyed gravity.
    """
    curves = [curve for found, curve in setting_curves(obj, scene) if found == name]
    if name == "gravity":
        value = list(validation.value_in_range(scene, "gravity"))
        for curve in curves:
            same = [each for each in curves if each.array_index == curve.array_index]
            driven = any(each.driver is not None for each in same)
            usual = GRAVITY[curve.array_index]
            value[curve.array_index] = usual if driven else animation.value_at(scene.animation_data, same, frame, usual)
        return tuple(value)
    if not curves:
        return getattr(obj.thew, name)
    driven = any(curve.driver is not None for curve in curves)
    value = KEYABLE[name]
    if not driven:
        value = animation.value_at(obj.animation_data, curves, frame, value)
    limits = obj.thew.bl_rna.properties[name]  # as Blender has it where keys overshoot
    return min(max(value, limits.hard_min), limits.hard_max)


def fields_in(obj: bpy.types.Object, scene: bpy.types.Scene | None) -> list[bpy.types.Object]:
    """Returns the objects with a force field that may act on an object, in the order of their names: those that are seen, and those
    whose Disable in Viewports is keyed, which rest in the frames where it hides them.
    """
    settings = obj.thew
    if scene is None or (settings.field_weight == 0.0 and obj.animation_data is None):
        return []
    chosen = settings.field_collection
    objects = scene.objects if chosen is None else [each for each in chosen.all_objects if each.name in scene.objects]
    found = [each for each in objects if has_field(each) and each != obj]
    if not found:
        return []
    layer = layer_of(scene)
    return sorted((each for each in found if is_seen(each, layer)), key=lambda each: each.name)


def is_seen(field: bpy.types.Object, layer: bpy.types.ViewLayer) -> bool:
    """Returns whether a field is seen in a view layer: nothing hides it or its collections, but a keyed Disable in Viewports."""
    if field.name not in layer.objects:
        return False
    if animation.animates(field, "hide_viewport"):
        return not field.hide_get(view_layer=layer)
    return field.visible_get(view_layer=layer)


def has_field(obj: bpy.types.Object) -> bool:
    """Returns whether an object has a force field."""
    return obj.field is not None and obj.field.type != "NONE"


def layer_of(scene: bpy.types.Scene) -> bpy.types.ViewLayer:
    """Returns the view layer in which a scene is seen."""
    layer = getattr(bpy.context, "view_layer", None)
    return layer if layer is not None and layer.id_data == scene else scene.view_layers[0]


def why_not(field: bpy.types.FieldSettings, name: str) -> str:
    """Returns why flesh does not feel a field, a sentence; "" if it does."""
    if field.type not in KINDS:
        kinds = "Wind, Force, Vortex, Turbulence and Drag"
        return f"The force field “{name}” does not act: flesh feels {kinds}, not {label(field, 'type')}"
    if field.shape not in SHAPES:
        shape = label(field, "shape")
        return f"The force field “{name}” does not act: flesh feels the shapes Point, Line and Plane, not {shape}"
    return ""


def label(group, name: str) -> str:
    """Returns what Blender calls the chosen item of an enum."""
    items = group.bl_rna.properties[name].enum_items
    item = items.get(getattr(group, name))
    return item.name if item is not None else getattr(group, name)


def acting(obj: bpy.types.Object, scene: bpy.types.Scene | None) -> tuple[list[bpy.types.Object], tuple[str, ...]]:
    """Returns the objects whose fields act on an object, and sentences on those that cannot."""
    found, problems = [], []
    for each in fields_in(obj, scene):
        wrong = why_not(each.field, each.name)
        if wrong:
            problems.append(wrong)
        elif each.field.apply_to_location:
            found.append(each)
    return found, tuple(problems)


def read_driven(obj: bpy.types.Object, scene: bpy.types.Scene | None) -> Driven:
    """Returns what drives the flesh of an object."""
    return driven_by(obj, scene, *acting(obj, scene))


def driven_by(
    obj: bpy.types.Object, scene: bpy.types.Scene | None, fields: list[bpy.types.Object], problems: tuple[str, ...]
) -> Driven:
    """Returns what drives the flesh of an object on which `fields` act."""
    keyed = frozenset(name for name, _ in setting_curves(obj, scene))
    return Driven(keyed, tuple(choices(each) for each in fields), problems)


def choices(obj: bpy.types.Object) -> FieldChoices:
    """Returns the choices of an object's field."""
    field = obj.field
    return FieldChoices(
        obj.name, KINDS[field.type], SHAPES[field.shape], FALLOFFS[field.falloff_type], SIDES[field.z_direction],
        field.type == "FORCE" and field.use_gravity_falloff, field.use_global_coords, max(field.seed, 0),
    )  # fmt: skip


def field_numbers(field: bpy.types.FieldSettings) -> list[float]:
    """Returns the `NUMBERS` of a field; negative flow, noise, drag and powers count as zero."""
    kept = [max(each, 0.0) for each in (field.flow, field.noise)]
    falloffs = [max(each, 0.0) for each in (field.falloff_power, field.radial_falloff)]
    drag = [max(each, 0.0) for each in (field.linear_drag, field.quadratic_drag)]
    least = [field.distance_min if field.use_min_distance else 0.0, field.radial_min if field.use_radial_min else 0.0]
    most = [
        field.distance_max if field.use_max_distance else np.inf,
        field.radial_max if field.use_radial_max else np.inf,
    ]
    size = field.size if field.size > 0.0 else 1.0  # as Blender has it
    return [field.strength, *kept, size, *drag, *falloffs, least[0], most[0], least[1], most[1]]


class DriveReader:
    """Reads the rows of an object, and what drives it at the first of them. A field that is made later waits for the next reading."""

    def __init__(self, obj: bpy.types.Object) -> None:
        self.obj = obj
        self.fields: list[bpy.types.Object] | None = None
        self.driven = Driven()

    def read(self, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
        """Returns the row that `depsgraph` has evaluated, float64[n]. A field that is gone since rests."""
        if self.fields is None:
            self.fields, problems = acting(self.obj, depsgraph.scene)
            self.driven = driven_by(self.obj, depsgraph.scene, self.fields, problems)
        settings, gravity = self.obj.evaluated_get(depsgraph).thew, depsgraph.scene_eval.gravity
        rows = [field_row(each, depsgraph) for each in self.fields]
        return np.concatenate([[settings.influence, settings.softness, settings.field_weight, *gravity], *rows])


def field_row(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Returns the world matrix and the `NUMBERS` of a field that `depsgraph` has evaluated; where it is gone, of one that rests."""
    try:
        acts = has_field(obj)
    except ReferenceError:  # it was deleted
        acts = False
    if not acts:
        return np.concatenate([np.eye(4).ravel(), [RESTING.get(name, 0.0) for name in NUMBERS]])
    evaluated = obj.evaluated_get(depsgraph)
    numbers = np.array(field_numbers(evaluated.field))
    if evaluated.hide_viewport:
        numbers[[NUMBERS.index(name) for name in WEIGHTED]] = 0.0
    return np.concatenate([np.array(evaluated.matrix_world, dtype=np.float64).ravel(), numbers])


def differs(obj: bpy.types.Object, then: np.ndarray, driven: Driven, depsgraph: bpy.types.Depsgraph) -> bool:
    """Returns whether fields or keyed settings are not as they were read."""
    if not (driven.fields or driven.keyed):
        return False
    now = DriveReader(obj).read(depsgraph)
    if now.shape != then.shape:
        return True
    counted = np.zeros(len(now), dtype=bool)
    width = 16 + len(NUMBERS)
    for k, each in enumerate(acting(obj, depsgraph.scene)[0]):
        at = HEAD + k * width
        counted[at : at + 16] = not is_free(each)  # else the fingerprint has it
        counted[at + 16 : at + width] = each.animation_data is not None
    for k, name in ((1, "softness"), (2, "field_weight"), (3, "gravity"), (4, "gravity"), (5, "gravity")):
        counted[k] = name in driven.keyed
    return not np.allclose(now[counted], then[counted], rtol=1e-5, atol=1e-6, equal_nan=True)


def is_free(field: bpy.types.Object) -> bool:
    """Returns whether nothing but the artist's hand moves an object."""
    return field.animation_data is None and field.parent is None and not len(field.constraints)


def fingerprint(obj: bpy.types.Object) -> tuple:
    """Returns a fingerprint of the fields that act and of the keys of settings, for comparison; () without any.

    Numbers and places of fields that nothing animates are in it; others are compared frame by frame (`differs`).
    """
    scene = scene_of(obj)
    driven = read_driven(obj, scene)
    if not (driven.keyed or driven.fields or driven.problems):
        return ()
    prints: list[tuple] = [(driven,), *((name, curve_print(curve)) for name, curve in setting_curves(obj, scene))]
    for owner, keyed in ((obj, driven.keyed - {"gravity"}), (scene, driven.keyed & {"gravity"})):
        if keyed and owner is not None:
            prints.append(strips_print(owner.animation_data))
    for each in acting(obj, scene)[0]:
        if each.animation_data is not None:
            prints.append(strips_print(each.animation_data))
            prints += [
                curve_print(curve)
                for curve in animation.curves(each.animation_data)
                if curve.data_path.startswith(("field.", "hide_viewport"))
            ]
            continue
        prints.append(tuple(field_numbers(each.field)))
        if is_free(each):
            prints.append(tuple(each.matrix_world.row[k][j] for k in range(3) for j in range(4)))
    return tuple(prints)
