# SPDX-License-Identifier: GPL-3.0-or-later
"""Landmarks for Copy Rigs to Another Character: clicked in pairs, and removed."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
from bpy.props import StringProperty

from ..edit import landmarks, posed_character
from ..live import jobs, updates
from ..logic.errors import Refusal
from ..logic.json_text import parse_json
from ..logic.names import describe
from ..logic.point_pairs import at_vertex
from ..logic.sentences import plural
from .limbs import other_mesh
from .operator_bases import QuickJob, fresh_property
from .pair_tool import PairTool


class THEW_OT_landmarks_click(PairTool, bpy.types.Operator):
    bl_label = "Click Landmarks"
    bl_description = (
        "Click points that correspond on the other selected character and on the active one, in pairs: a nose, a nipple, a kneecap. "
        "Copy Rigs to Another Character then brings these places together"
    )
    by_hand = "Click Landmarks is a tool for the mouse: a script gives it `points`"
    result = "keep them"

    source: fresh_property(StringProperty, "From", "Mesh to copy rigs from; empty: the other selected one")
    points: fresh_property(
        StringProperty,
        "Points",
        "Pairs of points on the displayed skins as JSON: [x, y, z, x, y, z] in the world, the other character first",
    )

    def read(self, context, obj):
        """Returns both characters in their present poses."""
        source = other_mesh(context, obj, self.source)
        if source == obj:
            raise Refusal(f"{describe(obj)} has no landmarks with itself: select another character too")
        for each in (source, obj):
            jobs.check_flesh(each)
        return [posed_character.read(each, context.scene, context.view_layer) for each in (source, obj)]

    def stand(self, context, obj):
        source, there = self.read(context, obj)
        self.hint = f"Click a point of {describe(source.obj)}, then the same of {describe(obj)}"
        return SimpleNamespace(obj=obj, both=(source, there), pairs=landmarks.begin(source, there))

    def finish(self, context):
        return self.keep_pairs(*self._stand.both, self.pairs)

    def edit(self, context, obj):
        if not self.points:
            raise Refusal(self.by_hand)
        updates.stop_update()
        source, there = self.read(context, obj)
        pairs = landmarks.begin(source, there)
        pairs.pairs.clear()
        try:
            rows = [[float(x) for x in row] for row in parse_json(self.points)]
            if any(len(row) != 6 for row in rows):
                raise ValueError("a row has not six numbers")
        except (ValueError, TypeError) as error:
            raise Refusal(f"Points: expected a list of [x, y, z, x, y, z] as JSON ({error})") from error
        pairs.pairs += [(at_vertex(source.skin_at(row[:3]), source.displayed), there.skin_at(row[3:])) for row in rows]
        return self.keep_pairs(source, there, pairs)

    def keep_pairs(self, source, there, pairs) -> str:
        """Saves the pairs and returns the message."""
        count = landmarks.keep(source, there, pairs)
        return f"{describe(there.obj)} has {plural(count, 'landmark')} with {describe(source.obj)}."


class THEW_OT_landmarks_clear(QuickJob, bpy.types.Operator):
    bl_label = "Clear Landmarks"
    bl_description = (
        "Remove the landmarks of this character: Copy Rigs to Another Character goes by bones and skins alone"
    )

    def edit(self, _context, obj):
        if obj is None or not len(obj.thew.landmarks):
            raise Refusal("There are no landmarks to remove: Click Landmarks makes some")
        return f"{plural(landmarks.clear(obj), 'landmark')} removed."
