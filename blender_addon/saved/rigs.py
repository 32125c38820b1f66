# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved rigs of a character: `Object.thew.rigs`, each a force field, its attachment, and its samples.

A rig's *sliders* are one value for each of `SLIDERS`; its template and its guide use some of them. A *sample* holds such a set, by
name, at one value of the rig's *control*. Lengths are in Blender's units in the world in which flesh was added, angles in radians.
`strength_by` defines the strength: the *yield*, how far flesh gives way to the rig by itself at rest, a length, from which the
force follows for the present flesh; or that force itself, in N/m3. The sliders belong to the control value `at`. If a sample has
that control, editing them edits the sample; elsewhere they are a draft, which is lost when the control moves, like a pose without a
key.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.props import (
    BoolProperty,
    BoolVectorProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..languages.contexts import OWN, own_context
from ..logic.names import free_name
from ..logic.sliders import GUIDES, TEMPLATES, choices
from . import slider_groups
from .samples import is_quiet, keep_sliders, quiet_edits, show_sliders
from .slider_groups import set_values, values_of

#: Present layout of saved rigs; `rig_layouts` migrates earlier ones.
LAYOUT = 1
#: Number of values that layout 0 kept by position.
VALUE_COUNT = 16
#: Properties that layout 0 kept by position.
FORMER_ARRAYS = ("preferred", "weights", "fixed")

#: Called with the object after a rig was edited by hand; set by `handlers`.
on_rig: list[Callable[[bpy.types.Object], None]] = []
#: Called with the object and the rig after its bone or face was changed by hand; set by `handlers`.
on_attachment: list[Callable[[bpy.types.Object, ThewRig], None]] = []

#: Kinds of rigs. Each place that depends on the kind has a table `…_BY_KIND`.
KINDS = (
    ("FORCE", "Force", "Pushes with a force field that hangs on the character"),
    ("SCULPTED", "Sculpted", "Brings the skin to a shape that was sculpted at a pose"),
    ("MUSCLE", "Muscle", "Contracts between two places on bones and bulges at constant volume"),
)
#: Meanings of a strength. Rigs from versions that had only forces keep their forces.
MEASURES = (
    ("YIELD", "Distance", "Largest yield of the skin; the force follows from the softness of the flesh there"),
    ("FORCE", "Force", "Largest force on a cubic metre of flesh, whatever its effect"),
)

# following edits ------------------------------------------------------------------------------------------------------


def _call_on_rig(rig: ThewRig) -> None:
    for call in on_rig:
        call(rig.id_data)


def _rig_edited(self, _context):
    if not is_quiet():
        _call_on_rig(self)


def _field_edited(self, context):
    if not is_quiet():
        self.fit = -1.0
    _rig_edited(self, context)


def _slider_edited(self, _context):
    if not is_quiet():
        keep_sliders(self)
        _call_on_rig(self)


def _control_edited(self, _context):
    if not is_quiet():
        show_sliders(self)
        _call_on_rig(self)


def _attachment_edited(self, _context):
    """Reports a bone or face that was typed in, not chosen by an operator: it is tracked from now on."""
    if is_quiet():
        return
    for call in on_attachment:
        call(self.id_data, self)
    self.fit = -1.0
    _call_on_rig(self)


def _active_sample_changed(self, _context):
    if not is_quiet():
        rig = owning_rig(self)
        if rig is not None:
            show_sliders(rig)
        for call in on_rig:
            call(self.id_data)


def _name_edited(self, _context):
    if is_quiet():
        return
    others = {rig.name for rig in self.id_data.thew.rigs if rig != self}
    with quiet_edits():
        self.name = free_name(self.name, others)


def template_property(default: str, **options):
    """Builds the choice of a template."""
    return _choice_property(TEMPLATES, "Template", "Shape of the force field", default, options)


def guide_property(default: str, **options):
    """Builds the choice of a guide."""
    return _choice_property(
        GUIDES, "Guide", "Bone, point of the skin or free place that the field hangs on", default, options
    )


def _choice_property(specs: dict, name: str, description: str, default: str, options: dict):
    items = choices(specs)
    default = default if default in specs else items[0][0]
    return EnumProperty(
        name=name, description=description, items=items, default=default, **own_context(name), **options
    )


# the groups -----------------------------------------------------------------------------------------------------------


class ThewRigSample(bpy.types.PropertyGroup):
    """The sliders of a rig at one value of its control."""

    control: FloatProperty(
        name="Control",
        translation_context=OWN,
        description="Value of the control at which the rig is like this",
        default=0.0,
        precision=3,
        options=set(),
        update=_active_sample_changed,
    )
    sliders: PointerProperty(type=slider_groups.ThewSliders, name="Sliders", description="A value for each slider")
    values: FloatVectorProperty(
        size=VALUE_COUNT, description="Of layout 0: the sliders by position", options={"HIDDEN"}
    )


class ThewRig(slider_groups.rig_sliders(_slider_edited), bpy.types.PropertyGroup):
    """A force field that rides on the character, driven by one control."""

    name: StringProperty(name="Name", description="Name of this rig", default="Rig", update=_name_edited)
    enabled: BoolProperty(
        name="Enabled",
        description="Let this rig push the flesh",
        translation_context=OWN,
        default=True,
        options=set(),
        update=_rig_edited,
    )
    solo: BoolProperty(
        name="Solo",
        description="While any rig is soloed, only soloed rigs push the flesh",
        default=False,
        options=set(),
        update=_rig_edited,
    )
    control: FloatProperty(
        name="Control",
        translation_context=OWN,
        description="Position of the rig between its samples: key it, or drive it from a bone. It is blended "
        "between two samples and constant outside them",
        default=1.0,
        soft_min=0.0,
        soft_max=1.0,
        precision=3,
        update=_control_edited,
    )
    firmness: FloatProperty(
        name="Firmness",
        description="How many times stiffer the flesh in the field becomes per unit of Control while it is simulated, as a tense "
        "muscle is firmer. 0 leaves it as it is; negative softens",
        default=0.0,
        soft_min=0.0,
        soft_max=10.0,
        min=-100.0,
        max=100.0,
        step=10,
        precision=2,
        options=set(),
        update=_rig_edited,
    )
    kind: EnumProperty(name="Kind", description="Action of the rig", items=KINDS, default="FORCE", options={"HIDDEN"})
    template: template_property("BULGE", options=set(), update=_field_edited)
    guide: guide_property("BONE", options=set(), update=_field_edited)

    # the template; its sliders and those of the guide are in the base
    strength_by: EnumProperty(
        name="Strength By",
        description="Quantity that the strength is kept by",
        items=MEASURES,
        default="FORCE",
        options={"HIDDEN"},
    )
    yields: FloatProperty(
        name="Yield",
        description="Largest yield of the skin to this rig at rest, in scene units, kept when the flesh "
        "becomes softer or firmer. Negative reverses the field",
        soft_min=-1.0,
        soft_max=1.0,
        step=0.1,
        precision=4,
        unit="LENGTH",
        options={"SKIP_SAVE"},
        get=lambda self: self.strength,
        set=lambda self, value: setattr(self, "strength", value),
    )

    # a guide along a bone
    bone: StringProperty(
        name="Bone", description="Bone that the field hangs on", default="", options=set(), update=_attachment_edited
    )
    bone_token: StringProperty(description="Identifier of the bone that survives renaming", options={"HIDDEN"})

    # a guide in the skin
    face: IntProperty(
        name="Face",
        description="Triangle of the mesh under which the field hangs, by its index among the mesh's triangles",
        default=-1,
        min=-1,
        options=set(),
        update=_attachment_edited,
    )
    face_token: IntProperty(description="Identifier of the face that survives a change of index", options={"HIDDEN"})
    face_part: IntProperty(description="Index among the triangles of its face", options={"HIDDEN"})
    face_place: FloatVectorProperty(
        size=3, description="Place of the point when it was chosen, in object space at rest", options={"HIDDEN"}
    )
    barycentric: FloatVectorProperty(
        name="Place",
        description="Position in the triangle: the shares of its three corners",
        size=3,
        default=(1 / 3, 1 / 3, 1 / 3),
        options=set(),
        update=_attachment_edited,
    )

    # a free guide
    matrix: FloatVectorProperty(
        size=16,
        description="Placement of the field: a rigid matrix by rows, in the world in which flesh was added",
        default=(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1),
        options={"HIDDEN"},
        update=_rig_edited,
    )

    # a muscle; its origin is on `bone`
    insertion: StringProperty(
        name="Insertion",
        translation_context=OWN,
        description="Bone that the muscle ends on",
        default="",
        options=set(),
        update=_attachment_edited,
    )
    insertion_token: StringProperty(
        description="Identifier of the bone of the insertion that survives renaming", options={"HIDDEN"}
    )

    # a sculpted rig
    sculpt: StringProperty(
        description="Poses and wanted offsets of points of the skin, see `logic.sculpted_rigs`", options={"HIDDEN"}
    )
    sculpt_bones: StringProperty(
        description="Identifiers, by name, of the bones of a sculpted rig that survive renaming, as JSON",
        options={"HIDDEN"},
    )

    samples: CollectionProperty(type=ThewRigSample, description="Recorded samples, by rising control")
    active_sample: IntProperty(name="Sample", description="Sample chosen in the list", default=0, options=set())
    at: FloatProperty(description="Control value that the sliders belong to", default=1.0, options={"HIDDEN"})
    draft: BoolProperty(description="The sliders differ from what is recorded", options={"HIDDEN"})

    pull: PointerProperty(type=slider_groups.ThewPull, description="Values that pulling the skin keeps to")
    layout: IntProperty(description="Layout in which the rig is saved, see `rig_layouts`", options={"HIDDEN"})
    preferred: FloatVectorProperty(size=VALUE_COUNT, description="Of layout 0", options={"HIDDEN"})
    weights: FloatVectorProperty(size=VALUE_COUNT, description="Of layout 0", options={"HIDDEN"})
    fixed: BoolVectorProperty(size=VALUE_COUNT, description="Of layout 0", options={"HIDDEN"})
    problem: StringProperty(
        name="Problem", description="Reason why this rig does not push the flesh; empty when it can", options={"HIDDEN"}
    )
    fit: FloatProperty(
        name="Fit",
        description="Part of its effect that the rig missed when it was copied to this character; negative: it was not copied, or was changed since",
        default=-1.0,
        options={"HIDDEN"},
    )
    note: StringProperty(
        name="Note",
        description="Reason why this rig does less than it is set to; empty when it does all",
        options={"HIDDEN"},
    )


CLASSES = (*slider_groups.CLASSES, ThewRigSample, ThewRig)


# copies and lists ----------------------------------------------------------------------------------------------------


def new_rig(obj: bpy.types.Object) -> ThewRig:
    """Adds a rig to the end of the list of `obj`, in the present layout, and returns it."""
    rig = obj.thew.rigs.add()
    rig.layout = LAYOUT
    return rig


def copy_rig(source: ThewRig, target: ThewRig) -> None:
    """Copies all of `source` to `target` except its name."""
    with quiet_edits():
        for name, setting in source.bl_rna.properties.items():
            if name in {"rna_type", "name", "samples", "yields", *FORMER_ARRAYS} or setting.is_readonly:
                continue
            setattr(target, name, getattr(source, name))
        for group in ("preferred", "weights", "fixed"):
            set_values(getattr(target.pull, group), values_of(getattr(source.pull, group)))
        target.samples.clear()
        for sample in source.samples:
            copy = target.samples.add()
            copy.control = sample.control
            set_values(copy.sliders, values_of(sample.sliders))


def owning_rig(sample: ThewRigSample) -> ThewRig | None:
    """Returns the rig that a sample belongs to."""
    return next((rig for rig in sample.id_data.thew.rigs if any(each == sample for each in rig.samples)), None)


def are_in_force(obj: bpy.types.Object) -> list[bool]:
    """Returns for each of the object's rigs whether it is in force: switched on, and solo if any is."""
    rigs = obj.thew.rigs
    solo = any(rig.solo and rig.enabled for rig in rigs)
    return [rig.enabled and (rig.solo or not solo) for rig in rigs]


def active_rig(obj: bpy.types.Object) -> ThewRig | None:
    """Returns the rig chosen in the list."""
    rigs, index = obj.thew.rigs, obj.thew.active_rig
    return rigs[index] if 0 <= index < len(rigs) else None
