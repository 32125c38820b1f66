# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties saved in the .blend: the artist's settings at `Object.thew`, each once, here or in its mix-in, with unit, range, default
and description for panels, operators and the command line; and a record of Thew's additions, from which removal restores the former state.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)  # fmt: skip

from ..logic import cycles
from ..logic.fine_detail import MAX_LEVELS
from . import bakes as saved_bakes
from . import keyframed as saved_keyframed
from . import limbs as saved_limbs
from . import overrides
from . import pins as saved_pins
from . import restarts as saved_restarts
from . import retargeting as saved_retargeting
from . import rigs as saved_rigs
from .additions import ThewMade
from .cache import CacheProperties
from .choices import ADAPTATIONS, BAKE_SPACES, ENGINES, FRAME_RANGE, MAX_CELLS, METHODS, STARTS
from .comparison import ComparisonProperties
from .contact import ContactProperties
from .damping import DampingProperties
from .direction import DirectionProperties
from .edit_callbacks import call_on_dial, setting
from .hand_lattice import HandLatticeProperties
from .kinds import KindProperties
from .overlays import OverlayProperties
from .tension import TensionProperties
from .units import metres_per_unit

#: Called with the object after `enabled` was switched; set by `handlers`.
on_toggle: list[Callable[[bpy.types.Object], None]] = []
#: Called with the object after the artist chose another view than the motion; set by `handlers`.
on_preview: list[Callable[[bpy.types.Object], None]] = []
#: Called with the object after another body was chosen to ride on; set by `handlers`.
on_mount: list[Callable[[bpy.types.Object], None]] = []


def _call_on_preview(self, _context):
    for call in on_preview:
        call(self.id_data)


def _is_moved_by(self, obj):
    return any(m.type == "ARMATURE" and m.object == self.id_data for m in obj.modifiers) and obj.type == "MESH"


def _can_carry(self, obj):
    return obj.type == "MESH" and obj != self.id_data and obj.thew.made.flesh


def _call_on_mount(self, _context):
    for call in on_mount:
        call(self.id_data)


def _get_shown_height(self):
    return self.height() / metres_per_unit(bpy.context.scene)


def _set_shown_height(self, value):
    self.real_height = value * metres_per_unit(bpy.context.scene)


def _call_on_toggle(self, _context):
    for call in on_toggle:
        call(self.id_data)


class ThewSettings(
    CacheProperties,
    ComparisonProperties,
    ContactProperties,
    DampingProperties,
    DirectionProperties,
    HandLatticeProperties,
    KindProperties,
    OverlayProperties,
    saved_limbs.LimbProperties,
    saved_pins.PinProperties,
    saved_restarts.RestartProperties,
    TensionProperties,
    bpy.types.PropertyGroup,
):
    """The artist's settings for one mesh."""

    enabled: setting(
        BoolProperty,
        "Flesh",
        "Show this character's flesh; when off, the plain Armature modifier moves it",
        default=False,
        update=_call_on_toggle,
    )
    cells_across: setting(
        IntProperty,
        "Detail",
        "Number of blocks of flesh along the character: more is finer and slower. 12 suits a body, 24 to "
        "48 faces, hands and detailed rigs",
        default=12,
        min=3,
        max=MAX_CELLS,
        soft_min=6,
        soft_max=64,
    )
    levels: setting(
        IntProperty,
        "Fine Detail",
        "Lets flesh fold and dent within the blocks of Detail. 0 does not; 1 takes about 30 times as long, 2 about ten times longer "
        "still and ten times as much memory",
        default=0,
        min=0,
        max=MAX_LEVELS,
    )
    adaptive: setting(
        BoolProperty,
        "Adaptive",
        "Compute Fine Detail only where and while the flesh is strained, or rigs need it. Under a pull, a pin, a dent or a local rig the "
        "shape is nearly the same and several times quicker; flesh that sways as a whole is strained nearly everywhere, and gains nothing",
        default=False,
    )
    adapt_to: setting(
        EnumProperty,
        "Adapt to",
        "What decides where Fine Detail is computed, with Adaptive",
        items=ADAPTATIONS,
        default="STRAIN",
    )
    method: setting(EnumProperty, "Method", "Method that moves the flesh", items=METHODS, default="hyperelastic")
    modes: setting(
        IntProperty,
        "Modes",
        "Method Modal: number of vibration modes that move the flesh, slowest first: more is finer and slower",
        default=32,
        min=1,
        max=128,
        soft_max=64,
    )
    engine: setting(EnumProperty, "Engine", "Method Modal: device that deforms the mesh", items=ENGINES, default="AUTO")
    device: setting(
        StringProperty,
        "Device",
        "Method Modal: name of the graphics adapter, or a part of it; empty: the best one",
        default="",
    )
    preview_mode: setting(
        IntProperty,
        "Preview Mode",
        "Method Modal: play this vibration mode alone, in a loop, slowed if too fast to see; 0 shows the motion. "
        "Bakes and renders never show it",
        default=0,
        min=0,
        max=128,
        update=_call_on_preview,
    )
    preview_size: setting(
        FloatProperty,
        "Preview Size",
        "Largest motion of the previewed mode, as a part of the body's size",
        default=0.1,
        min=0.001,
        max=1.0,
        soft_max=0.3,
        subtype="FACTOR",
        update=_call_on_preview,
    )
    real_height: setting(
        FloatProperty,
        "Real Size in Metres",
        "Longest side of the whole character in real metres, whatever the file's units; 0 lets Thew guess",
        default=0.0,
        min=0.0,
        max=1000.0,
        soft_max=30.0,
        precision=3,
    )
    softness: FloatProperty(  # can be keyed and driven
        name="Softness",
        description="Softness of the flesh: 0 is firm muscle, 0.5 natural, 1 very soft. It means the same on a mouse and on a "
        "whale",
        default=0.5,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=call_on_dial,
    )
    use_young: setting(
        BoolProperty,
        "Stiffness in Pascals",
        "Set the stiffness of the flesh in pascals instead of by Softness",
        default=False,
    )
    height_shown: FloatProperty(
        name="Real Size",
        description="Real length of the character's longest side, whatever its size in the file: the height of a person, the length of a fox "
        "from nose to tail. Flesh of an elephant swings more slowly than a toy's. 0 lets Thew guess",
        min=0.0,
        soft_max=30.0,
        precision=3,
        subtype="DISTANCE",
        options={"SKIP_SAVE"},
        get=_get_shown_height,
        set=_set_shown_height,
    )
    young: setting(
        FloatProperty,
        "Young's Modulus",
        "Stiffness of the flesh in pascals, in place of the softness: fat 10 000, relaxed muscle 20 000, tense muscle 50 000",
        default=20e3,
        min=100.0,
        max=1e8,
        soft_min=5e3,
        soft_max=1e5,
        step=10000,
        precision=0,
        update=call_on_dial,
    )
    poisson: setting(
        FloatProperty,
        "Keeps Volume",
        "Poisson's ratio: 0 loses volume freely, 0.49 hardly at all",
        default=0.4,
        min=0.0,
        max=0.49,
    )
    density: setting(
        FloatProperty,
        "Density",
        "Mass of the flesh in kilograms per cubic metre; water and flesh are near 1000",
        default=1000.0,
        min=1.0,
        max=20000.0,
        soft_min=100.0,
        soft_max=3000.0,
        step=1000,
        precision=0,
    )
    reach: setting(
        FloatProperty,
        "Swing Limit",
        "Largest distance of the shown flesh from its plain skin, as a part of the body's size; 0 sets no limit",
        default=0.15,
        min=0.0,
        max=10.0,
        soft_max=0.5,
        subtype="FACTOR",
    )
    elastic_joints: setting(
        FloatProperty,
        "Elastic Joints",
        "Rounding of bent joints, which keeps their volume: 0 bends as the weights do, 1 wholly as the flesh does. "
        "Best on soft characters; rigid parts lose their edges",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    rate: setting(
        FloatProperty,
        "Steps per Second",
        "Minimum number of steps per second; every frame has a whole number of steps",
        default=240.0,
        min=1.0,
        max=10000.0,
        soft_min=60.0,
        soft_max=1000.0,
        precision=0,
        step=1000,
    )
    use_gravity: setting(BoolProperty, "Gravity", "Let the scene's gravity act on the flesh", default=True)
    rest_includes_gravity: setting(
        BoolProperty,
        "Model Already Sags",
        "The modelled shape already sags: at rest in its rest pose the character does not move",
        default=True,
    )
    use_scene_range: setting(
        BoolProperty,
        "Scene Range",
        "Simulate the scene's frame range; when off, this character has a range of its own",
        default=True,
    )
    frame_start: setting(
        IntProperty, "Start", "First frame of the motion", default=1, min=FRAME_RANGE[0], max=FRAME_RANGE[1]
    )
    frame_end: setting(
        IntProperty, "End", "Last frame of the motion", default=250, min=FRAME_RANGE[0], max=FRAME_RANGE[1]
    )
    bake_space: EnumProperty(
        name="Keys Hold", description="Motion that baked keys hold", items=BAKE_SPACES, default="REST", options=set()
    )
    motion_start: setting(
        EnumProperty,
        "Start of Motion",
        "Motion of the flesh before the first frame",
        items=STARTS,
        default=cycles.AUTOMATIC,
    )
    show_lattice: BoolProperty(
        name="Show Lattice",
        description="Draw the lattice: the cage of blocks in which the flesh is computed, its edges on bones in colour. With Fine Detail, points "
        "show where it acts at the frame: amber for 1, red for 2, violet for 3",
        default=False,
    )
    show_twist: BoolProperty(
        name="Show Twist",
        description="In Pose mode draw the tube around each selected bone within which flesh turns with it: bright for a twist of its "
        "own, faint for the automatic one, grey where it is off",
        default=True,
    )
    show_map: BoolProperty(
        name="Show Flesh Map",
        description="Colour the character by where it is soft: blue is the skin as it is, red as soft as it gets",
        default=False,
    )
    chosen: PointerProperty(
        name="Mesh",
        description="Mesh of the armature that is shown and edited in Thew's panels",
        type=bpy.types.Object,
        poll=_is_moved_by,
    )
    body: PointerProperty(
        name="Body",
        description="Mesh with flesh that clothes, eyes or hair ride on",
        type=bpy.types.Object,
        poll=_can_carry,
        update=_call_on_mount,
    )
    settled: setting(
        BoolProperty,
        "Rest Pose Preview",
        "Show the flesh at rest in every pose instead of in motion, to work on rigs; never in bakes and renders. "
        "Contact can take seconds; Other Flesh is left out",
        default=False,
        update=_call_on_preview,
    )
    rigs: CollectionProperty(type=saved_rigs.ThewRig, description="Force fields that shape the flesh")
    active_rig: IntProperty(name="Rig", description="Rig chosen in the list", default=0, min=0, options=set())
    landmarks: CollectionProperty(
        type=saved_retargeting.ThewLandmark, description="Points that correspond to points of another character"
    )
    landmarks_from: PointerProperty(
        type=bpy.types.Object, description="Character to whose points the landmarks correspond", options={"HIDDEN"}
    )
    bakes: CollectionProperty(type=saved_bakes.ThewBake, description="Bakes of this object, of which one plays")
    bake_choice: PointerProperty(type=saved_bakes.ThewBakeChoice, description="What was last chosen in Bake As…")
    active_bake: IntProperty(name="Bake", description="Bake chosen in the list", default=0, min=0, options=set())
    keyframed: PointerProperty(type=saved_keyframed.ThewKeyframed, description="Shape keys that are reached at times")
    made: PointerProperty(type=ThewMade)

    def height(self) -> float:
        """Returns the real height in force, metres."""
        return self.real_height if self.real_height > 0.0 else self.made.guessed_height

    def frames(self, scene: bpy.types.Scene) -> tuple[int, int]:
        """Returns first and last frame of the live motion."""
        if self.use_scene_range:
            return scene.frame_start, scene.frame_end
        return self.frame_start, self.frame_end


CLASSES = (
    *saved_rigs.CLASSES,
    *saved_keyframed.CLASSES,
    *saved_limbs.CLASSES,
    *saved_pins.CLASSES,
    *saved_restarts.CLASSES,
    *saved_retargeting.CLASSES,
    *saved_bakes.CLASSES,
    ThewMade,
    ThewSettings,
)


def register() -> None:
    for cls in CLASSES:
        overrides.make_overridable(cls)
        bpy.utils.register_class(cls)
    bpy.types.Object.thew = PointerProperty(
        type=ThewSettings, name="Thew", description="Flesh on this object", override=overrides.OVERRIDABLE
    )


def unregister() -> None:
    del bpy.types.Object.thew
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
