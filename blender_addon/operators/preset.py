# SPDX-License-Identifier: GPL-3.0-or-later
"""Ready rigs for the active character: breath, biceps, throat."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty, StringProperty

from ..edit import placing, posed_character
from ..edit.rig_list import drop_rig, new_rig
from ..live import updates
from ..logic.bone_names import Role, find, find_pair
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sliders import SLIDERS
from ..rigs import drivers, presets, rigging
from ..rigs.presets import PRESETS, Piece, Preset
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits, show_sliders
from ..saved.slider_groups import set_values
from ..saved.timing import curve_time, frames_per_second
from ..scene.animation import curves_in
from ..scene.reading import active_bone, armature_of
from .operator_bases import QuickJob, fresh_property, option


class THEW_OT_rig_preset(QuickJob, bpy.types.Operator):
    bl_label = "Add Preset Rig"
    bl_description = "Add a ready-made rig to the character, on the bone found by name, or else on the active bone"

    preset: option(
        EnumProperty,
        "Preset",
        "Preset to add",
        items=[(key, preset.label, preset.description) for key, preset in PRESETS.items()],
        default="BREATH",
    )
    bone: fresh_property(StringProperty, "Bone", "Bone to put it on; empty: found by its name, or the active bone")

    def edit(self, context, obj):
        preset = PRESETS[self.preset]
        updates.stop_update()
        stand = posed_character.read(obj, context.scene, context.view_layer)
        bones = self.bones(stand, preset)
        before = len(obj.thew.rigs)
        try:
            made = [add_piece(stand, preset.piece, bone, side) for side, bone in bones]
            for rig, (_, bone) in zip(made, bones, strict=True):
                move_control(context, stand, preset, obj.thew.rigs[rig], bone)
            rigging.show_edit(context, obj)
        except Exception:
            while len(obj.thew.rigs) > before:
                drop_rig(obj, len(obj.thew.rigs) - 1)
            raise
        where = " and ".join(f"“{bone}”" for _, bone in bones)
        return f"{preset.label}: on the bone{'s' if len(bones) > 1 else ''} {where}."

    def bones(self, stand: posed_character.PosedCharacter, preset: Preset) -> list[tuple[str, str]]:
        """Returns (side, bone) of each piece."""
        if self.bone:
            placing.bone_index(stand, self.bone)
            return [("", self.bone)]
        names, parents, role = stand.flesh.character.bones, stand.flesh.character.parents, preset.piece.role
        if preset.piece.both_sides:
            found = find_pair(names, role, parents)
        else:
            found = [("", name) for name in [find(names, role, "", parents)] if name is not None]
        chosen = active_bone(armature_of(stand.obj))
        if not found and chosen in names:
            found = [("", chosen)]
        if not found:
            raise Refusal(
                f"No bone of {describe(stand.obj)} is named like {role.phrase}: select that bone in pose mode, "
                "one that has weight, and press again"
            )
        return found


def add_piece(stand: posed_character.PosedCharacter, piece: Piece, bone: str, side: str) -> int:
    """Adds one rig and returns its index."""
    head, tail = stand.bone_ends(placing.bone_index(stand, bone))
    middle = head + piece.along * (tail - head)
    girth = stand.rest.girth(middle, tail - head, 0.25 * stand.size)
    placement = placing.bone_placement(
        stand, piece.template, bone, piece.along, piece.angle, piece.out * girth, piece.tilt
    )
    sizes = {name: part * girth for name, part in piece.sizes.items()}
    strength = placing.visible_yield(stand.flesh, piece.template, sizes, placement, piece.moves * girth)
    rig = new_rig(stand.obj, f"{piece.name} {side}".strip())
    placing.write_template(stand, rig, True, piece.template, {**sizes, "strength": strength}, placement)
    with quiet_edits():
        rig.samples.clear()
        for control, share, along in piece.samples:
            sample = rig.samples.add()
            sample.control = control
            changed = {"strength": share * rig.strength, "along": along}
            set_values(sample.sliders, [changed.get(name, getattr(rig, name)) for name in SLIDERS])
        rig.active_sample, rig.control = 0, piece.samples[0][0]
    show_sliders(rig)
    return stand.obj.thew.active_rig


def move_control(context, stand: posed_character.PosedCharacter, preset: Preset, rig: ThewRig, bone: str) -> None:
    """Animates the control with keys, or drives it by a bone."""
    obj, scene = stand.obj, context.scene
    if preset.driver is None:
        keys = presets.key_frames(preset, scene.frame_start, scene.frame_end, frames_per_second(scene))
        key_control(obj, rig, [(curve_time(scene, frame), value) for frame, value in keys], preset.loops)
        return
    turning = driving_bone(stand, preset.driver, bone)
    # The swing works whatever the bone's axes: it is the angle between the bone and its direction in the straight arm.
    drivers.drive(rig, armature_of(obj), turning, "SWING", 0.0, preset.full)


def driving_bone(stand: posed_character.PosedCharacter, role: Role, bone: str) -> str:
    """Returns the bone below `bone` that plays `role`, or else the nearest one below it."""
    character = stand.flesh.character
    names = character.bones
    below, at = [], names.index(bone)
    for i, name in enumerate(names):
        parent = int(character.parents[i])
        while parent >= 0 and parent != at:
            parent = int(character.parents[parent])
        if parent == at:
            below.append(name)
    for side in ("L", "R", ""):
        found = find(below, role, side)
        if found is not None:
            return found
    if not below:
        raise Refusal(f"No bone hangs on “{bone}”, so nothing bends there: choose the bone above the joint")
    return below[0]


def key_control(obj: bpy.types.Object, rig: ThewRig, keys: list[tuple[float, float]], loops: bool) -> None:
    """Keys the rig's control at (curve time, value) pairs. With `loops` the curve repeats for ever."""
    path = rig.path_from_id("control")
    for time, value in keys:
        with quiet_edits():
            rig.control = value
        obj.keyframe_insert(path, frame=time)
    curve = next(curve for curve in curves_in(obj.animation_data) if curve.data_path == path)
    if loops and not any(modifier.type == "CYCLES" for modifier in curve.modifiers):
        curve.modifiers.new("CYCLES")
    for point in curve.keyframe_points:
        point.interpolation = "BEZIER" if loops else "LINEAR"
    curve.update()
