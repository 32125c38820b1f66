# SPDX-License-Identifier: GPL-3.0-or-later
"""The dialog of a bake: what is written, which clips, the error allowed, and the size to expect."""

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, StringProperty

from ..bake import bake_records, clip_plans, joining, key_estimate, remaking, targets
from ..bake.clip_plans import CLIP_CHOICES
from ..bake.vertex_textures import IMAGES
from ..languages.translations import report, translate
from ..live import target
from ..logic import bake_sizes
from ..logic.errors import Refusal, sentence
from ..logic.sentences import plural, significant
from ..saved import bakes as saved_bakes
from ..saved import units
from ..saved.bakes import ThewClipTick
from ..scene import armature_actions, bake_files, key_playing
from ..ui.bake_panel import size_text
from ..ui.layouts import draw_text
from .bake import bones_property, influences_property, regions_property, rest_error_property, tolerance_property
from .operator_bases import fill, fresh_property

#: Width of the dialog in pixels, and the letters that fit on a line of it.
DIALOG_WIDTH, DIALOG_LETTERS = 440, 62


class THEW_OT_bake_as(bpy.types.Operator):
    bl_idname = "thew.bake_as"
    bl_label = "Bake As"
    bl_description = "Choose what is written, of which clips, and how exactly, with the size to expect"
    bl_options = {"REGISTER", "INTERNAL"}

    target: fresh_property(
        EnumProperty, "Target", "Form of the baked motion", items=targets.TARGET_ITEMS, default="COMPRESSED"
    )
    clips: fresh_property(EnumProperty, "Clips", "What is baked", items=CLIP_CHOICES, default="SCENE")
    tolerance: tolerance_property()
    bones: bones_property(bounded=True)
    influences: influences_property(bounded=True)
    regions: regions_property(bounded=True)
    rest_error: rest_error_property(bounded=True)
    name: fresh_property(
        StringProperty, "Name", "Name of the bake that the clips join or replace; empty: that of the target", default=""
    )
    folder: fresh_property(
        StringProperty,
        "Folder",
        "Folder for the files; empty: that of the bake which the clips join, or one beside the .blend",
        default="",
        subtype="DIR_PATH",
    )
    image: fresh_property(EnumProperty, "Image", "Format of the texture", items=IMAGES, default="EXR")
    anew: fresh_property(
        BoolProperty,
        "Other Clips Anew",
        "Bake the other clips of this bake once more too, with the present settings. Compressed keys are then shared by all clips, and fewer",
        default=False,
    )
    overwrite: fresh_property(
        BoolProperty,
        "Replace",
        "Write over the clips of the same name in this bake. Off: the new bake stands beside it, under a name of its own",
        default=False,
    )
    ticks: CollectionProperty(type=ThewClipTick)

    @classmethod
    def poll(cls, context):
        return bpy.ops.thew.bake.poll()

    def invoke(self, context, _event):
        obj = target.target_mesh(context)
        armature = key_playing.moving_armature(obj) if obj is not None and obj.type == "MESH" else None
        key_estimate.forget()
        self.ticks.clear()
        if armature is not None:
            for each in armature_actions.all_actions(armature):
                self.ticks.add().name = each.action.name
        if len(self.ticks) > 1:
            fill(self, clips="ALL")
        if obj is not None and obj.type == "MESH":
            fill(self, **remaking.chosen_values(obj))
        return context.window_manager.invoke_props_dialog(self, width=DIALOG_WIDTH)

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "target")
        layout.prop(self, "clips")
        if self.clips == "CHOSEN":
            column = layout.column(heading="Actions", align=True)
            for tick in self.ticks:
                column.prop(tick, "chosen", text=tick.name, translate=False)
        if self.target == "COMPRESSED":
            row = layout.row()
            row.alert = bool(self.unusable)
            row.prop(self, "tolerance")
            layout.prop(self, "regions")
        if self.target == "HELPER_BONES":
            layout.prop(self, "bones")
            layout.prop(self, "influences")
            layout.prop(self, "rest_error")
        if self.target == "VERTEX_TEXTURE":
            layout.prop(self, "image")
        if self.writes_files:
            layout.prop(self, "folder", placeholder=str(bake_files.default_folder()))
        joined = self.joined(context)
        layout.prop(self, "name", placeholder=joined.name if joined is not None else self.wanted_name)
        if joined is not None and joined.met:
            layout.prop(self, "overwrite", text=translate(f"Replace in “{joined.wanted}”"))
        if self.other_clips(context) and not self.moves_bones:
            layout.prop(self, "anew")
        column = layout.column(align=True)
        for line in join_lines(context, joined):
            draw_text(column, line, DIALOG_LETTERS, icon="ERROR" if joined.replaced else "INFO")
        icon = "ERROR" if self.refused(context) else "INFO"
        for line in self.lines(context):
            draw_text(column, line, DIALOG_LETTERS, icon=icon)

    @property
    def unusable(self) -> str:
        """Returns the sentence on an error that no bake can keep; "" for one that can."""
        if self.target != "COMPRESSED" or self.tolerance > 0.0:
            return ""
        return "Compressed Keys need an error above 0: set one, or choose Shape Keys, which are exact"

    def refused(self, context) -> str:
        """Returns why the target would be refused, without full stop; "" where it can be baked."""
        obj = target.target_mesh(context)
        try:
            if not self.unusable and obj is not None and obj.type == "MESH":
                targets.target_by_key(self.target).check(obj)
        except Refusal as error:
            return str(error)
        return self.unusable

    @property
    def writes_files(self) -> bool:
        """Returns whether the target writes files beside the .blend."""
        return getattr(targets.target_by_key(self.target), "writes_files", False)

    @property
    def moves_bones(self) -> bool:
        """Returns whether the target moves bones, which are fitted to all clips of a bake at once."""
        return targets.target_by_key(self.target).kind.moves_bones

    @property
    def bakes_others(self) -> bool:
        """Returns whether the other clips of the bake are baked too."""
        return self.anew or self.moves_bones

    def lines(self, context) -> list[str]:
        """Returns the lines on the size of the bake and on engines."""
        obj = target.target_mesh(context)
        if obj is None or obj.type != "MESH":
            return []
        refused = self.refused(context)
        if refused:
            return [sentence(refused)]
        try:
            clips = self.clip_frames(context, obj)
        except Refusal as error:
            return [sentence(str(error))]
        frames, vertices = sum(clips), len(obj.data.vertices)
        told = [f"{plural(frames, 'frame')} of {plural(vertices, 'vertex', 'vertices')}"]
        settings = self.bones, self.influences, obj.thew.store_tension, self.regions, self.key_range(context, obj)
        told += bake_sizes.estimate_lines(self.target, clips, vertices, *settings)
        told += scale_lines(obj, {"COMPRESSED": self.tolerance, "HELPER_BONES": self.rest_error}.get(self.target, 0.0))
        if self.writes_files and not self.folder.strip() and not bpy.data.filepath:
            told.append("save the .blend first, or name a folder: Blender empties the one of its temporary files")
        others = self.other_clips(context)
        words = bake_records.clip_words(others)
        if others and self.moves_bones:
            told.append(
                f"Bones are fitted to all clips at once, so {words} {'is' if len(others) == 1 else 'are'} baked anew too"
            )
        elif others and not self.anew:
            more = ", and the new clips add keys of their own" if self.target == "COMPRESSED" else ""
            told.append(f"The bake keeps {words} as {'it is' if len(others) == 1 else 'they are'}{more}")
        elif others:
            told.append(f"{words} {'is' if len(others) == 1 else 'are'} baked anew too, and replaced")
        return [sentence(each[0].upper() + each[1:]) for each in told]

    @property
    def wanted_name(self) -> str:
        """Returns the name that was typed, or that of the target."""
        return self.name.strip() or targets.target_by_key(self.target).label

    def joined(self, context) -> joining.Joining | None:
        """Returns what the bake does with one of its name; None without a mesh."""
        obj = target.target_mesh(context)
        if obj is None or obj.type != "MESH":
            return None
        return joining.join(obj, self.target, self.wanted_name, self.chosen_clips(), self.overwrite)

    def key_range(self, context, obj) -> tuple[int, int, str] | None:
        """Returns the number of compressed keys by frames that are there, and which; None where none are, or with regions."""
        if self.target != "COMPRESSED" or self.regions > 1 or self.other_clips(context):
            return None
        return key_estimate.key_range(obj, context.scene, self.chosen_clips(), 1e-3 * self.tolerance)

    def chosen_clips(self) -> set[str] | None:
        """Returns the names of the chosen actions; None for the scene's range."""
        if self.clips == "SCENE":
            return None
        return {tick.name for tick in self.ticks if self.clips == "ALL" or tick.chosen}

    def other_clips(self, context) -> list[saved_bakes.ThewClip]:
        """Returns the clips that the bake keeps beside those that are chosen."""
        joined = self.joined(context)
        return joined.kept if joined is not None else []

    def clip_frames(self, context, obj) -> list[int]:
        """Returns the number of frames of each clip; a texture holds those of the clips that stay too."""
        with_others = self.bakes_others or self.target == "VERTEX_TEXTURE"
        others = [clip.end - clip.start + 1 for clip in self.other_clips(context)] if with_others else []
        if self.clips == "SCENE":
            start, end = obj.thew.frames(context.scene)
            return [max(end - start + 1, 0), *others]
        plans, _ = clip_plans.action_plans(obj, context.scene, self.clips, self.chosen_names())
        return [len(plan.frames) for plan in plans] + others

    def chosen_names(self) -> list[str]:
        """Returns the names of the ticked actions."""
        return [tick.name for tick in self.ticks if tick.chosen]

    def values(self, context) -> dict:
        """Returns the values of the operator `thew.bake` that were chosen."""
        joined = self.joined(context)
        name = joined.name if joined is not None else self.wanted_name
        values = {"target": self.target, "clips": self.clips, "name": name, "anew": self.bakes_others}
        if self.target == "COMPRESSED":
            values |= {"tolerance": self.tolerance, "regions": self.regions}
        if self.target == "HELPER_BONES":
            values |= {"bones": self.bones, "influences": self.influences, "rest_error": self.rest_error}
        if self.target == "VERTEX_TEXTURE":
            values["image"] = self.image
        if self.writes_files:
            values["folder"] = self.folder
        if self.clips == "CHOSEN":
            values["actions"] = "\n".join(self.chosen_names())
        return values

    def execute(self, context):
        """Starts the bake itself, with its progress and its message. Values that it refuses are not kept."""
        obj = target.target_mesh(context)
        refused = self.unusable or folder_refusal(self.folder if self.writes_files else None)
        if refused:
            report(self, {"ERROR"}, sentence(refused))
            return {"CANCELLED"}
        if obj is not None and obj.type == "MESH" and obj.library is None:
            remaking.choose(obj, {name: getattr(self, name) for name in remaking.CHOICES})
        try:
            bpy.ops.thew.bake("INVOKE_DEFAULT", **self.values(context))
        except RuntimeError as error:  # what the operator reports as an error is raised here
            report(self, {"ERROR"}, str(error).strip().removeprefix("Error: "))
            return {"CANCELLED"}
        return {"FINISHED"}


def folder_refusal(folder: str | None) -> str:
    """Returns the sentence on a folder that takes no files; "" for one that does, and for None."""
    try:
        if folder is not None:
            bake_files.check_writable(bake_files.folder_of(folder))
    except Refusal as error:
        return str(error)
    return ""


def scale_lines(obj: bpy.types.Object, millimetres: float) -> list[str]:
    """Returns the line on an error of a character that has another size in the scene than in reality."""
    if millimetres <= 0.0 or not units.is_scaled(obj):
        return []
    body = obj.thew.body if obj.thew.made.rides and obj.thew.body is not None else obj
    scale = units.scene_scale(obj)
    return [
        f"The scene shows the character {significant(scale, 3)} times as large as its Real Size of {significant(body.thew.height(), 3)} m: "
        f"there an error of {significant(millimetres, 3)} mm looks like {significant(scale * millimetres, 3)} mm"
    ]


def join_lines(context, joined: joining.Joining | None) -> list[str]:
    """Returns the lines on a bake that has the wanted name: what is written over, or under which name the new one stands beside it."""
    if joined is None or joined.former is None or not (joined.met or not joined.same_kind):
        return []
    obj, words = target.target_mesh(context), bake_records.clip_words(joined.met)
    amount = size_text(obj, joined.former)
    if not joined.same_kind:
        return [
            f"“{joined.wanted}” is a bake of another kind ({amount}) and stays: OK writes “{joined.name}” beside it."
        ]
    if joined.replaced:
        return [f"OK replaces {words} in the bake “{joined.name}” ({amount})."]
    return [
        f"The bake “{joined.wanted}” has {words} already ({amount}) and stays: OK writes “{joined.name}” beside it."
    ]
