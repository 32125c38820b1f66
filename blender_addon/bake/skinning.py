# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's own skinning measured at each vertex, as `x -> B x + t`, whatever the Armature modifier is set to.

Linear blending, Preserve Volume, masks, several Armature modifiers: each moves a vertex by an affine map that does not
depend on the vertex's position. So four copies of every vertex, one in place and three a step along x, y and z from it,
show the map once Blender has moved them. The copies are loose vertices of one object that lives as long as the bake.
Bendy bones and envelopes do depend on the position: there the step is small, and the map is the local one.
"""

from __future__ import annotations

import bmesh
import bpy
import numpy as np

from ..logic.spaces import diagonal
from ..scene import helper_weights, own_skin, stack
from ..scene.mesh import evaluated_positions
from ..scene.reading import Subject

#: Settings of an Armature modifier that affect the motion.
MODIFIER_SETTINGS = (
    "object",
    "use_deform_preserve_volume",
    "use_vertex_groups",
    "use_bone_envelopes",
    "vertex_group",
    "invert_vertex_group",
    "use_multi_modifier",
)

#: Step for maps that depend on the position, as a part of the character's size. The root of single precision's
#: rounding, 2.4e-4, would balance it against curvature; it adds up over the bones of a vertex.
DIFFERENCE_STEP = 1e-3


def armature_modifiers(subject: Subject) -> list[bpy.types.ArmatureModifier]:
    """Returns the Armature modifiers that act on the mesh, up to the one before the flesh."""
    return [other for other in stack.modifiers_in_bake(subject.obj, subject.modifier, "POSED") if moves_mesh(other)]


def moves_mesh(other: bpy.types.Modifier) -> bool:
    """Returns whether this is an Armature modifier with an armature."""
    return other.type == "ARMATURE" and other.object is not None


def depends_on_position(subject: Subject) -> bool:
    """Returns whether the armature's map depends on the position of a vertex: bendy bones, envelopes."""
    for other in armature_modifiers(subject):
        bones = other.object.data.bones
        if other.use_bone_envelopes:
            return True
        if any(bone.use_deform and (bone.bbone_segments > 1 or bone.use_envelope_multiply) for bone in bones):
            return True
    return False


class Probe:
    """Measures the maps at the scene's current frame. A context manager, which leaves nothing behind."""

    def __init__(self, subject: Subject, rest: np.ndarray, scene: bpy.types.Scene):
        """Stores the probe's settings. `rest` [n, 3]: vertices before the armature acts, object space."""
        self.subject, self.scene, self.rest = subject, scene, np.asarray(rest, dtype=np.float64)
        self.bent = depends_on_position(subject)
        self.size = diagonal(self.rest) or 1.0
        self.step = DIFFERENCE_STEP * self.size if self.bent else self.size
        self.obj: bpy.types.Object | None = None

    def __enter__(self) -> Probe:
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if self.obj is not None:
            mesh = self.obj.data
            bpy.data.objects.remove(self.obj)
            bpy.data.meshes.remove(mesh)
            self.obj = None

    def _make(self) -> None:
        source = self.subject.obj
        mesh = bpy.data.meshes.new("Thew Probe")
        self.obj = bpy.data.objects.new("Thew Probe", mesh)
        cloud = bmesh.new()
        cloud.from_mesh(source.data)
        bmesh.ops.delete(cloud, geom=cloud.edges[:], context="EDGES_FACES")
        vertices = cloud.verts[:]
        for _ in range(3):
            bmesh.ops.duplicate(cloud, geom=vertices)
        cloud.to_mesh(mesh)
        cloud.free()
        for group in source.vertex_groups:
            self.obj.vertex_groups.new(name=group.name)
        helper_weights.restore_groups(self.obj, own_skin.kept_groups(source))
        for other in armature_modifiers(self.subject):
            copy = self.obj.modifiers.new(other.name, "ARMATURE")
            for name in MODIFIER_SETTINGS:
                setattr(copy, name, getattr(other, name))
        self.obj.parent = source
        # An instancer without instances is evaluated, unlike a hidden object, but not drawn.
        self.obj.instance_type, self.obj.show_instancer_for_viewport = "VERTS", False
        self.obj.hide_render = self.obj.hide_select = True
        self.scene.collection.objects.link(self.obj)
        self.place(self.rest)

    def place(self, positions: np.ndarray) -> None:
        """Moves the vertices to `positions` [n, 3]."""
        corners = np.vstack([positions, *(positions + self.step * axis for axis in np.eye(3))])
        flat = np.ascontiguousarray(corners, dtype=np.float32).ravel()
        self.obj.data.attributes["position"].data.foreach_set("vector", flat)
        self.obj.data.update_tag()

    def read(self, depsgraph: bpy.types.Depsgraph) -> tuple[np.ndarray, np.ndarray]:
        """Returns `(posed [n, 3], B [n, 3, 3])`: the posed vertices and the linear part of their maps, object space."""
        moved = evaluated_positions(self.obj, depsgraph).astype(np.float64).reshape(4, -1, 3)
        columns = (moved[1:] - moved[0]) / self.step
        return moved[0], columns.transpose(1, 2, 0)
