# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds small characters, and reads and drives Blender for the tests."""

from __future__ import annotations

import math
import sys

import bpy
import numpy as np


def part(name: str):
    """Returns a module of the extension, whichever way it was loaded."""
    for package in ("bl_ext.user_default.thew", "thew_addon"):
        if f"{package}.{name}" in sys.modules:
            return sys.modules[f"{package}.{name}"]
    raise LookupError(name)


def make_armature(name: str = "Rig", scale: float = 1.0) -> bpy.types.Object:
    """Builds three bones up the z axis, 0.6 each: Hip, Spine, Head."""
    data = bpy.data.armatures.new(name)
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, bone_name in enumerate(("Hip", "Spine", "Head")):
        bone = data.edit_bones.new(bone_name)
        bone.head = (0.0, 0.0, scale * 0.6 * i)
        bone.tail = (0.0, 0.0, scale * 0.6 * (i + 1))
        bone.parent = parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    return obj


def make_body(armature, name: str = "Body", scale: float = 1.0, rings: int = 13, sides: int = 10) -> bpy.types.Object:
    """Builds a closed fat tube around the armature, weighted smoothly along it, with an Armature modifier."""
    vertices, faces = [], []
    for i in range(rings):
        z = -0.05 + 1.9 * i / (rings - 1)
        radius = 0.18 + 0.14 * math.exp(-(((z - 0.7) / 0.3) ** 2))
        for j in range(sides):
            angle = 2.0 * math.pi * j / sides
            vertices.append((scale * radius * math.cos(angle), scale * radius * math.sin(angle), scale * z))
    for i in range(rings - 1):
        for j in range(sides):
            k = (j + 1) % sides
            faces.append((i * sides + j, i * sides + k, (i + 1) * sides + k, (i + 1) * sides + j))
    faces.append(tuple(reversed(range(sides))))
    faces.append(tuple((rings - 1) * sides + j for j in range(sides)))
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    add_weights(obj, [v[2] / scale for v in vertices])
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    bpy.context.view_layer.objects.active = obj
    return obj


def add_weights(obj, heights) -> None:
    """Weights Hip, Spine and Head by the height along the body, blended over 0.2 at the joints."""
    groups = [obj.vertex_groups.new(name=name) for name in ("Hip", "Spine", "Head")]
    for i, z in enumerate(heights):
        low = min(max((0.7 - z) / 0.2, 0.0), 1.0)
        high = min(max((z - 1.1) / 0.2, 0.0), 1.0)
        for group, weight in zip(groups, (low, max(1.0 - low - high, 0.0), high), strict=True):
            if weight > 0.0:
                group.add([i], weight, "REPLACE")


def animate(armature, first: int = 1, last: int = 20, hop: float = 0.08, bend: float = 0.25) -> bpy.types.Action:
    """Keys a hop and a bend of the spine every second frame, in a rhythm slower than the flesh's own."""
    armature.animation_data_clear()
    hip, spine = armature.pose.bones["Hip"], armature.pose.bones["Spine"]
    spine.rotation_mode = "XYZ"
    for frame in range(first, last + 1, 2):
        phase = 2.0 * math.pi * (frame - first) / 20.0
        hip.location = (0.0, hop * math.sin(phase) ** 2, 0.0)  # a bone's own y runs along it: up
        spine.rotation_euler = (bend * math.sin(phase), 0.0, 0.0)
        hip.keyframe_insert("location", frame=frame)
        spine.keyframe_insert("rotation_euler", frame=frame)
    return armature.animation_data.action


def make_folding(angle: float = 1.4, last: int = 12) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds (mesh, armature); it folds up from frame 1 to the last, flesh against flesh, and stays folded. The mesh is
    active."""
    armature = make_armature()
    body = make_body(armature, rings=25, sides=16)
    for name in ("Spine", "Head"):
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, turned in ((1, 0.0), (last, angle), (last + 8, angle)):
            bone.rotation_euler = (turned, 0.0, 0.0)
            bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.view_layer.update()
    activate(body)
    return body, armature


def make_character(**options) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds (mesh, armature), animated over frames 1 to 20; the mesh is active."""
    armature = make_armature(scale=options.get("scale", 1.0))
    body = make_body(armature, **options)
    animate(armature, hop=0.08 * options.get("scale", 1.0))
    bpy.context.view_layer.update()
    return body, armature


def evaluated_positions(obj) -> np.ndarray:
    """Returns the object's vertices as the viewport shows them, object space, float32[n, 3]."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.attributes["position"].data.foreach_get("vector", flat)
    return flat.reshape(-1, 3).copy()


def world(obj) -> np.ndarray:
    """Returns the object's vertices as the viewport shows them, world space, float64[n, 3]."""
    matrix = np.array(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world, dtype=np.float64)
    return evaluated_positions(obj).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def buried_count(obj, shape: np.ndarray) -> int:
    """Counts the triangles of a shape of `obj` that lie in other flesh: just below them the skin's winding number is two."""
    thew = part("logic.native").core()
    obj.data.calc_loop_triangles()
    triangles = np.array([t.vertices for t in obj.data.loop_triangles], dtype=np.int32)
    corners = shape.astype(np.float64)[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    below = corners.mean(axis=1) - 1e-3 * normals / np.maximum(lengths, 1e-12)
    return int((np.asarray(thew.Surface(shape.astype(np.float64), triangles).winding_number(below)) > 1.5).sum())


def play(obj, frames, read=evaluated_positions) -> np.ndarray:
    """Returns the shapes at `frames`, in the order given, [f, n, 3]."""
    shapes = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        shapes.append(read(obj))
    return np.array(shapes)


def size_of(points: np.ndarray) -> float:
    """Returns the diagonal of the box around points [n, 3]."""
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def activate(obj) -> None:
    """Makes `obj` the active object and the only selected one."""
    for other in bpy.context.view_layer.objects:
        other.select_set(other == obj)
    bpy.context.view_layer.objects.active = obj


def snapshot(obj) -> dict:
    """Returns everything of an object and its file that Thew must leave as it was."""
    mesh = obj.data
    keys = mesh.shape_keys
    return {
        "modifiers": [(m.name, m.type, m.show_viewport, m.show_render, m.persistent_uid) for m in obj.modifiers],
        "active modifier": obj.modifiers.active.name if obj.modifiers.active else None,
        "attributes": sorted((a.name, a.data_type, a.domain) for a in mesh.attributes),  # their order is Blender's own
        "active attribute": mesh.attributes.active.name if mesh.attributes.active else None,
        "keys": [(k.name, k.value, k.mute, k.relative_key.name) for k in keys.key_blocks] if keys else None,
        "key": (obj.active_shape_key_index, obj.show_only_shape_key),
        "key animation": bool(keys and keys.animation_data),
        "visibility": (obj.hide_viewport, obj.hide_render, obj.hide_get()),
        "groups": [(g.name, g.index) for g in obj.vertex_groups],
        "custom": sorted(set(obj.keys()) - {"thew"}),  # Blender 4.2 makes the group when it is first looked at
        "vertices": np.array([v.co for v in mesh.vertices]).tobytes(),
        "settings": settings(obj),
        "frame": bpy.context.scene.frame_current,
        "data": {
            kind: sorted(item.name for item in getattr(bpy.data, kind))
            for kind in ("objects", "meshes", "node_groups", "actions", "shape_keys", "armatures", "texts")
        },
    }


def forget_settings(obj) -> None:
    """Resets the artist's settings, which stay when flesh is removed."""
    for name in part("saved.additions").changed_settings(obj):
        obj.thew.property_unset(name)


def settings(obj) -> dict:
    """Returns the values of `Object.thew`."""
    values = {}
    for prefix, group in (("", obj.thew), ("made.", obj.thew.made), ("keyframed.", obj.thew.keyframed)):
        for name in group.bl_rna.properties.keys():
            if name not in {"rna_type", "made", "" if prefix else "keyframed"}:
                values[prefix + name] = plain(getattr(group, name))
    return values


def plain(value):
    """Returns the value of a property in Python's own types; entries of lists by their properties."""
    if isinstance(value, bpy.types.ID):
        return value.name
    if isinstance(value, bpy.types.PropertyGroup):
        return {name: plain(getattr(value, name)) for name in value.bl_rna.properties.keys() if name != "rna_type"}
    if hasattr(value, "__len__") and not isinstance(value, str):
        return tuple(plain(each) for each in value)
    return value


def refusal(operator, **options) -> str:
    """Calls an operator that must refuse, and returns the sentence it reports."""
    try:
        result = operator(**options)
    except RuntimeError as error:
        text = str(error).strip()
        assert text.startswith("Error: "), text
        return text.removeprefix("Error: ")
    raise AssertionError(f"not refused: {result}")


# rigs -----------------------------------------------------------------------------------------------------------------


def add_rig(obj, **options):
    """Adds a rig by the artist's operator, and returns its property group."""
    activate(obj)
    assert bpy.ops.thew.rig_add(**options) == {"FINISHED"}
    return obj.thew.rigs[obj.thew.active_rig]


def flesh_of(obj):
    """Returns the flesh that was built for an object."""
    return part("live.session").register.state_of(obj)


def settle(obj) -> np.ndarray:
    """Settles the flesh of an object, and returns its shape at rest as the artist sees it."""
    activate(obj)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    return evaluated_positions(obj)


def largest_difference(shape, other) -> float:
    """Returns the largest difference of a coordinate."""
    return float(np.abs(np.asarray(shape) - np.asarray(other)).max())


def curve_keys(rig, *keys) -> None:
    """Keys a rig's control with (frame, control) pairs."""
    for frame, control in keys:
        rig.control = control
        rig.keyframe_insert("control", frame=frame)


def add_modal(modes=12, **options) -> None:
    """Adds flesh that moves by `modes` modes to the active object."""
    bpy.context.object.thew.modes = modes
    assert bpy.ops.thew.add(cells_across=6, method="modal", **options) == {"FINISHED"}


def carried_shape(flesh, frame) -> np.ndarray:
    """Returns modal flesh at `frame` without any motion of its own, object space."""
    pose = flesh.place.maps(flesh.motion.maps[frame - flesh.clip_start])
    matrix = flesh.motion.matrices[frame - flesh.clip_start]
    deformer = part("logic.native").thew.Deformer(flesh.modes, flesh.surface, form="embedded", engine="cpu")
    return deformer.positions(np.zeros(len(flesh.modes)), pose, to=flesh.place.to_object(matrix))


def skinned_shape(flesh, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
    """Returns the skinned shape for the bones' maps and the mesh's world matrix, object space."""
    return part("logic.spaces").transform(np.linalg.inv(mesh), flesh._skinned_world(maps, mesh)).astype(np.float32)


class Layout:
    """Stands in for a panel's layout: takes every call and records it."""

    def __init__(self, seen=None, owners=None):
        self.__dict__["seen"] = [] if seen is None else seen
        self.__dict__["owners"] = [] if owners is None else owners  # of the properties: (owner, name)

    def __getattr__(self, name):
        def call(*args, **options):
            if name == "prop":
                assert args[1] in args[0].bl_rna.properties.keys(), args[1]
                self.owners.append((args[0], args[1]))
            if name == "prop_search":
                assert args[1] in args[0].bl_rna.properties.keys() and hasattr(args[2], args[3])
            self.seen.append((name, *(a for a in args if isinstance(a, str)), options.get("text", "")))
            inner = Layout(self.seen, self.owners)
            return (inner, inner) if name == "panel" else inner

        return call

    def __setattr__(self, name, value):
        pass

    def read(self) -> list[str]:
        """Returns the words that an artist would read on it: labels, and properties in brackets."""
        words = {"prop": lambda call: f"[{call[1]}]", "label": lambda call: call[-1]}
        return [words[call[0]](call) for call in self.seen if call[0] in words]
