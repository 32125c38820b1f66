# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of frames and of actions, the list of bakes, and Finish Bake."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from ..bake import bake_records, baking, finishing, remaking, showing, targets
from ..bake.clip_plans import CLIP_CHOICES
from ..bake.compressed import MAX_REGIONS
from ..bake.helper_checks import MAX_BONES, MAX_INFLUENCES
from ..bake.vertex_textures import IMAGES
from ..languages.translations import report, translate
from ..live import riding, updates
from ..logic.errors import sentence
from ..logic.names import describe
from ..logic.sentences import join_words, significant
from ..saved import bakes as saved_bakes
from ..saved.choices import BAKE_SPACES
from ..scene import bakes, key_playing, reading
from .operator_bases import Job, QuickJob, fill, fresh_property


def tolerance_property():
    """Returns the property of the error allowed, in millimetres of the character."""
    return fresh_property(
        FloatProperty,
        "Error (mm)",
        "Largest distance of any vertex in any frame from the flesh, in millimetres on the character's Real Size; for Compressed Keys",
        default=2.0,
        min=0.0,
        max=1e4,
        soft_min=0.1,
        soft_max=20.0,
    )


def number_property(name: str, description: str, default: int, most: int, soft_max: int, bounded: bool):
    """Returns the property of a number from 1 to `most`.

    `bounded`: fields take no other number. Scripts get a sentence for one, where Blender would write the nearest in silence.
    """
    bounds = {"min": 1, "max": most} if bounded else {"soft_min": 1}
    return fresh_property(IntProperty, name, description, default=default, soft_max=soft_max, **bounds)


def bones_property(bounded: bool = False):
    """Returns the property of the number of helper bones."""
    text = "Number of helper bones that each mesh gets at most; for Helper Bones"
    return number_property("Bones", text, 16, MAX_BONES, 64, bounded)


def influences_property(bounded: bool = False):
    """Returns the property of the number of bones of a vertex."""
    text = (
        "Number of bones that a vertex follows at most, helper bones among them: every engine takes 4; for Helper Bones"
    )
    return number_property("Influences", text, 4, MAX_INFLUENCES, MAX_INFLUENCES, bounded)


def regions_property(bounded: bool = False):
    """Returns the property of the number of regions of compressed keys."""
    text = (
        "Parts of the mesh, around its bones, that get keys of their own; 1: none. 8 of them take about three times as many morph targets, "
        "which move few vertices each: fewer bytes in FBX, and in glTF without Shape Key Normals. For Compressed Keys"
    )
    return number_property("Regions", text, 1, MAX_REGIONS, 32, bounded)


def rest_error_property(bounded: bool = False):
    """Returns the property of the distance from the plain skin at rest, in millimetres of the character."""
    bounds = {"min": 0.0, "max": 1e4} if bounded else {"soft_min": 0.0}
    return fresh_property(
        FloatProperty,
        "Error at Rest (mm)",
        "Largest distance from the plain skin in these clips while helper bones rest, as they do in actions without a clip and in "
        "ragdolls, in millimetres on the character's Real Size. 0 keeps the plain skin in any pose; more lets bones follow the flesh "
        "better; for Helper Bones",
        default=3.0,
        soft_max=20.0,
        **bounds,
    )


class Bake(Job):
    """Mix-in of the baking operators: Blender accepts no operator as the base of another one."""

    bl_description = (
        "Write the motion as one shape key for each frame, so that it plays without this extension. Replaces the scene's range in the bake "
        "“Shape Keys”"
    )

    target: fresh_property(
        EnumProperty,
        "Target",
        "Form of the baked motion",
        items=targets.TARGET_ITEMS,
        default=targets.TARGET_ITEMS[0][0],
    )
    space: fresh_property(
        EnumProperty,
        "Keys Hold",
        "Motion that the keys hold; if unset, as in the object's settings",
        items=BAKE_SPACES,
        default="REST",
    )
    frame_start: fresh_property(IntProperty, "Start", "First frame; if unset, that of the current range", default=1)
    frame_end: fresh_property(IntProperty, "End", "Last frame; if unset, that of the current range", default=250)
    clips: fresh_property(EnumProperty, "Clips", "What is baked", items=CLIP_CHOICES, default="SCENE")
    actions: fresh_property(
        StringProperty, "Actions", "Names of the chosen actions, separated by semicolons or new lines", default=""
    )
    name: fresh_property(
        StringProperty, "Name", "Name of the bake that the clips join or replace; empty: that of the target", default=""
    )
    tolerance: tolerance_property()
    folder: fresh_property(
        StringProperty,
        "Folder",
        "Folder for caches and textures; empty: that of the bake which the clips join, or one beside the .blend",
        default="",
        subtype="DIR_PATH",
    )
    image: fresh_property(EnumProperty, "Image", "Format of a vertex texture", items=IMAGES, default="EXR")
    bones: bones_property()
    influences: influences_property()
    regions: regions_property()
    rest_error: rest_error_property()
    replace: fresh_property(BoolProperty, "Replace", "Take the bake's other clips away", default=False)
    anew: fresh_property(
        BoolProperty,
        "Other Clips Anew",
        "Bake the other clips of this bake once more too, with the present settings. Compressed keys are then shared by all clips, and fewer",
        default=False,
    )

    @classmethod
    def description(cls, _context, properties):
        """Returns the tooltip: what the button bakes, in which form and where."""
        chosen = [name for name in ("target", "clips") if properties.is_property_set(name)]
        return translate(describe_press(properties) if chosen else cls.bl_description)

    def job(self, context, obj):
        if obj is not None and obj.type == "MESH":
            body = obj.thew.body if obj.thew.made.rides and obj.thew.body is not None else obj
            start, end = body.thew.frames(context.scene)
            space = "REST" if obj.thew.made.keyframed else obj.thew.bake_space
            fill(self, frame_start=start, frame_end=end, space=space)
        scene, layer = context.scene, context.view_layer
        return baking.bake(
            obj, scene, layer, self.frame_start, self.frame_end, self.space, self.target,
            clips=self.clips, actions=names_in(self.actions), name=self.name, replace=self.replace,
            tolerance=1e-3 * self.tolerance if self.target == "COMPRESSED" else 0.0,
            folder=self.folder, image=self.image, anew=self.anew, bones=self.bones, influences=self.influences,
            regions=self.regions, rest_tolerance=1e-3 * self.rest_error,
        )  # fmt: skip

    def report_success(self, obj, result):
        """Reports the bake."""
        return report_bake(self, obj, result)


def report_bake(operator, obj, result) -> set[str]:
    """Reports a bake, as a warning if an export would go wrong. The status bar shows the last report, the Info editor all."""
    level = {"WARNING" if result.warnings else "INFO"}
    for text in (*result.details, result.message(obj)):
        report(operator, level, sentence(text))
    return {"FINISHED"}


def describe_press(values) -> str:
    """Returns what `thew.bake` does with these values, for a tooltip."""
    target = targets.target_by_key(values.target)
    form = target.label + (f" within {significant(values.tolerance, 3)} mm" if target.key == "COMPRESSED" else "")
    names = join_words([f"“{name}”" for name in names_in(values.actions)])
    what = {"ALL": "every action of the armature", "CHOSEN": names or "the active action"}
    return (
        f"Bake {what.get(values.clips, 'the frames of the scene')} as {form}, into the bake “{values.name or target.label}”. Bake As… "
        "offers other forms"
    )


def names_in(text: str) -> tuple[str, ...]:
    """Returns names that are separated by semicolons or new lines."""
    words = (word.strip() for line in text.splitlines() for word in line.split(";"))
    return tuple(word for word in words if word)


class THEW_OT_bake(Bake, bpy.types.Operator):
    bl_label = "Bake"


class THEW_OT_bake_again(Job, bpy.types.Operator):
    bl_label = "Bake Again"
    bl_description = (
        "Bake all clips of this bake anew with the present settings, in the same form. Compressed clips that were added one by one share "
        "their keys then, and need fewer"
    )
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    name: fresh_property(StringProperty, "Bake", "Name of the bake; empty: the one that plays", default="")

    def job(self, context, obj):
        reading.check_editable(obj)
        return remaking.bake_again(obj, context.scene, context.view_layer, bakes.find(obj, self.name))

    def report_success(self, obj, result):
        """Reports the bake."""
        return report_bake(self, obj, result)


class THEW_OT_finish_bake(QuickJob, bpy.types.Operator):
    bl_label = "Finish Bake"
    bl_description = (
        "Keep the baked keys and remove the flesh and whatever would deform the mesh a second time, ready for export"
    )

    def edit(self, _context, obj):
        updates.stop_update()
        return reversed(finishing.finish_bake(obj))  # the status bar shows the last one, all stand in the Info editor


# the list of bakes --------------------------------------------------------------------------------------------------


def along(obj) -> list[bpy.types.Object]:
    """Returns the riders of an object, whose bakes of the same name are treated along with it."""
    return list(riding.riders_of(obj)) if obj.thew.made.flesh else []


class ListedBake(QuickJob):
    """Mix-in of the buttons of one bake in the list."""

    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    name: fresh_property(StringProperty, "Bake", "Name of the bake; empty: the one that plays", default="")


class THEW_OT_bake_show(ListedBake, bpy.types.Operator):
    bl_label = "Show This Bake"
    bl_description = "Let this bake play instead of the others and of the live flesh"

    def edit(self, context, obj):
        reading.check_editable(obj)
        name = bakes.find(obj, self.name).name
        for each in [obj, *along(obj)]:
            saved_bakes.choose(each, saved_bakes.named(each, name) or saved_bakes.playing(each))
        showing.show_bakes(obj, context.scene, True)


class THEW_OT_bake_rename(ListedBake, bpy.types.Operator):
    bl_label = "Rename Bake"
    bl_description = "Give this bake another name"

    new_name: fresh_property(StringProperty, "New Name", "Name that no other bake of the object has", default="")

    def invoke(self, context, event):
        self.new_name = self.name
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, _context):
        self.layout.prop(self, "new_name")

    def edit(self, _context, obj):
        reading.check_editable(obj)
        bake_records.rename(obj, along(obj), bakes.find(obj, self.name).name, self.new_name)


class THEW_OT_bake_remove(ListedBake, bpy.types.Operator):
    bl_label = "Remove Bake"
    bl_description = "Delete this bake and everything that was made for it; other bakes stay"

    def edit(self, context, obj):
        reading.check_editable(obj)
        updates.stop_update()
        shown, name = obj.thew.made.shows_bake or key_playing.is_finished(obj), bakes.find(obj, self.name).name
        bakes.remove_bake(obj, name)
        for each in along(obj):
            if saved_bakes.named(each, name) is not None:
                bakes.remove_bake(each, name)
        if shown:
            showing.show_bakes(obj, context.scene, obj.thew.made.shows_bake)
        updates.evaluate_own_curves(context.view_layer)
        return f"The bake “{name}” of {describe(obj)} is gone"
