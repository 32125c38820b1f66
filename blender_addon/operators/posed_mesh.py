# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Rig from Mesh."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
from bpy.props import BoolProperty, IntProperty, StringProperty

from ..edit import posed_character, posed_meshes, sculpting
from ..live import jobs, target, updates
from ..logic.errors import Refusal
from ..logic.features import check_features, features_text, read_features
from ..logic.names import describe
from ..logic.point_pairs import PointPairs
from ..logic.sentences import plural
from ..rigs import rigging
from ..saved import rig_layouts
from ..saved.units import length
from ..scene import posing, windows
from .operator_bases import fresh_property, option
from .pair_tool import PairTool


class THEW_OT_rig_from_mesh(PairTool, bpy.types.Operator):
    bl_label = "Rig from Mesh"
    bl_description = (
        "Find the pose of another selected mesh, a scan or a sculpt of this character, pose the armature so, and make a rig of what "
        "is left. Click features on both, in pairs; a copy of the mesh with the same vertices needs no clicks"
    )
    by_hand = "Rig from Mesh needs features of a mesh with other vertices: a script gives `features`"
    result = "find the pose and make the rig"

    source: fresh_property(StringProperty, "Mesh", "Mesh in the other pose; empty: the other selected one")
    features: fresh_property(
        StringProperty,
        "Features",
        "Features as JSON: [vertex of the character, x, y, z of its place on the mesh in the world]; empty: chosen by "
        "themselves from the vertices of a copy",
    )
    group: fresh_property(
        StringProperty, "Region", "Vertex group of the skin that takes part in the rig; empty: all of it"
    )
    steps: option(
        IntProperty,
        "Samples on the Way",
        "Poses between rest and the found one at which the rig holds its share of the shape",
        default=3,
        min=1,
        max=20,
    )
    driven: option(
        BoolProperty, "Drive by a Bone", "Drive the control by the bone that turns most in the found pose", default=True
    )
    bone: fresh_property(StringProperty, "Bone", "Bone that drives; empty: the one that turns most in the found pose")
    keyed: option(
        BoolProperty,
        "Key the Pose",
        "Insert keys for the found pose at this frame, if the armature is animated: another frame would lose it",
        default=True,
    )

    def invoke(self, context, event):
        """Begins with the clicks, unless the mesh has the character's own vertices."""
        if windows.is_headless() or context.window is None or context.area is None:
            return self.execute(context)
        obj = target.target_mesh(context)
        try:
            jobs.check_flesh(obj)
            other = self.other(context, obj)
            self.source = other.name
            if posed_meshes.read(obj, other, context.view_layer).same:
                return self.execute(context)
        except Exception as error:
            return self.refuse(obj, error)
        return PairTool.invoke(self, context, event)

    def other(self, context, obj) -> bpy.types.Object:
        """Returns the posed mesh."""
        if self.source:
            other = bpy.data.objects.get(self.source)
            if other is None or other.type != "MESH":
                raise Refusal(f"There is no mesh “{self.source}”: choose the posed mesh of {describe(obj)}")
        else:
            others = [each for each in context.selected_objects if each.type == "MESH" and each != obj]
            if len(others) != 1:
                raise Refusal(
                    f"Select the posed mesh in addition to {describe(obj)}, which is active: {len(others)} other meshes are selected"
                )
            other = others[0]
        if other == obj:
            raise Refusal(
                f"{describe(obj)} itself is no other pose of it: select the posed mesh too, or a sculpted copy"
            )
        return other

    def stand(self, context, obj):
        stand = posed_character.read(obj, context.scene, context.view_layer)
        posed = posed_meshes.read(obj, self.other(context, obj), context.view_layer)
        posed_meshes.check_distance(stand, posed)
        self.hint = f"Click features on {describe(posed.obj)} and on {describe(obj)}, in pairs"
        return SimpleNamespace(obj=obj, pairs=PointPairs((posed.surface, stand.displayed), (False, True)))

    def finish(self, context):
        surface = self.pairs.surfaces[1]
        vertices = np.array([hit.vertex(surface.triangles) for _, hit in self.pairs.pairs], dtype=np.int64)
        self.features = features_text(vertices, np.array([hit.point for hit, _ in self.pairs.pairs]).reshape(-1, 3))
        try:
            return self.edit(context, self._stand.obj)
        except Exception:
            self.features = ""
            raise

    def edit(self, context, obj):
        jobs.check_flesh(obj)
        updates.stop_update()
        rig_layouts.migrate(obj)
        other, view_layer = self.other(context, obj), context.view_layer
        stand = posed_character.read(obj, context.scene, view_layer)
        posed = posed_meshes.read(obj, other, view_layer)
        posed_meshes.check_distance(stand, posed)
        select = sculpting.selection(obj, self.group, False)
        if self.features:
            vertices, places = read_features(self.features, len(obj.data.vertices))
        elif posed.same:
            vertices, places = posed_meshes.same_features(stand, posed, select)
        else:
            raise Refusal(self.by_hand)
        check_features(vertices, describe(other))
        with posed_meshes.PoseEdit(stand, view_layer) as found:
            left = found.find(vertices, places) if posed.same else found.find_on(vertices, places, posed)
            native = posed_meshes.fit(found.stand, posed, self.steps, select, view_layer)
        if self.keyed and posing.is_animated(found.armature):
            posing.key_pose(found.armature, found.before)
        text = self.add_rig(found.stand, native, view_layer)
        rigging.show_edit(context, obj)
        unit = stand.flesh.place.metres_per_unit
        by = f"{plural(len(vertices), 'feature')}, {length(left / unit)} off on average"
        return f"The pose of {describe(other)} is found by {by}. {text}"

    def add_rig(self, stand, native, view_layer) -> str:
        """Adds the rig, if it does anything, and returns a sentence about it."""
        if not native.forces(stand.flesh.body, 1.0).any():
            return "In that pose the flesh has its shape already, and no rig is made."
        if native.report.left >= native.report.start:
            return "In that pose no rig brings the skin nearer, and none is made: undo, and click more features where bones turn."
        return sculpting.add_driven(stand, native, self.bone if self.driven else None, view_layer, "its shape")
