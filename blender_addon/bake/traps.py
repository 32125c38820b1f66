# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of exports: what an exporter would do wrong with a bake, and the settings with which it is about to write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import bpy

from ..logic.names import describe
from ..logic.sentences import join_words, plural
from ..saved import bakes as saved_bakes
from ..scene import helper_playing, key_curves, key_playing, writing
from . import clips

#: Parts of the identifiers of exporters, and the formats that these write.
FORMATS = {
    "gltf": "glTF", "fbx": "FBX", "usd": "USD", "alembic": "Alembic", "obj_export": "OBJ", "ply_export": "PLY",
    "stl_export": "STL",
}  # fmt: skip
#: Formats that hold the evaluated mesh, at each frame or at the current one: flesh is exported as it is seen.
EVALUATED_FORMATS = ("Alembic", "OBJ", "PLY", "STL")
#: Settings with which USD holds the evaluated points of each frame, as those formats do.
USD_POINTS = {"export_shapekeys": False, "export_armatures": False, "export_animation": True}
#: Settings of exporters that leave out what is not selected.
SELECTION_SETTINGS = ("use_selection", "selected_objects_only", "selected", "export_selected_objects")
#: Settings of exporters that leave out what is hidden in the view.
VISIBILITY_SETTINGS = ("use_visible", "visible_objects_only")
#: Setting of the glTF exporter that leaves out what is hidden in renders.
RENDER_SETTING = "use_renderable"
#: Maximum number of meshes that a sentence names.
MAX_NAMES = 3
#: Levels of traps, the worst first: the file is wrong, or it is right at a price. They are levels of `logic.health`.
WARNING, NOTICE = "WARNING", "NOTICE"


@dataclass(frozen=True)
class Trap:
    """One thing that an export would do wrong with one mesh."""

    key: str  # names it for `thew.mend_export`
    obj: bpy.types.Object
    text: str  # which object, what is wrong, what to do; without a full stop
    remedy: str = ""  # label of the button that mends it; "" without one
    level: str = WARNING
    change: Mapping[str, Any] = field(default_factory=dict)  # settings of the exporter that mend it


class ExportSettings:
    """Settings with which an exporter is about to write.

    `values`: the properties of its open dialog, or a mapping, in which missing settings have the exporter's defaults. Without
    them only the scene is known.
    """

    def __init__(self, exporter: str = "", values: Any = None):
        self.exporter, self.values = exporter, values
        self.format = next((name for part, name in FORMATS.items() if part in exporter.lower()), "")

    @property
    def known(self) -> bool:
        """Returns whether the exporter's settings are known."""
        return self.values is not None

    def concerns(self, *formats: str) -> bool:
        """Returns whether one of these formats is about to be written; an unknown exporter may write any."""
        return not self.exporter or self.format in formats

    def value(self, name: str) -> Any:
        """Returns a setting; None where it is unknown."""
        if isinstance(self.values, Mapping):
            return self.values[name] if name in self.values else self._default(name)
        return getattr(self.values, name, None)

    def set(self, name: str, value: Any) -> None:
        """Changes a setting."""
        if isinstance(self.values, dict):
            self.values[name] = value
        else:
            setattr(self.values, name, value)

    def label(self, name: str) -> str:
        """Returns the name of a setting that the artist reads."""
        found = self._properties().get(name)
        return found.name if found is not None else name

    def item_label(self, name: str, value: Any) -> str:
        """Returns a value of a setting as the artist reads it."""
        found = self._properties().get(name)
        items = found.enum_items if found is not None and found.type == "ENUM" else {}
        return items[value].name if value in items else str(value)

    def _default(self, name: str) -> Any:
        found = self._properties().get(name)
        if found is None:
            return None
        return set(found.default_flag) if found.type == "ENUM" and found.is_enum_flag else found.default

    def _properties(self):
        """Returns the definitions of the exporter's settings."""
        module, _, name = self.exporter.partition("_OT_")
        operator = getattr(getattr(bpy.ops, module.lower()), name) if name else None
        try:
            return operator.get_rna_type().properties if operator is not None else {}
        except KeyError:  # this Blender has no such exporter
            return {}


#: Prefixes of the operators that export whole characters.
EXPORTER_PREFIXES = (
    "EXPORT_SCENE_OT_",  # glTF, FBX
    "WM_OT_fbx_export",
    "WM_OT_usd_export",
    "WM_OT_alembic_export",
    "WM_OT_obj_export",
    "WM_OT_ply_export",
    "WM_OT_stl_export",
)


def open_exporter(context, exporter: str = "") -> ExportSettings | None:
    """Returns the settings of the exporter whose dialog the file browser shows; None without one. `exporter`: only that one."""
    operator = getattr(context.space_data, "active_operator", None)
    if operator is None or not operator.bl_idname.startswith(EXPORTER_PREFIXES):
        return None
    if exporter and operator.bl_idname != exporter:
        return None
    return ExportSettings(operator.bl_idname, getattr(operator, "properties", None))


#: Settings of the glTF exporter as its hooks get them.
GLTF_HOOK_NAMES = {
    "export_morph_animation": "gltf_morph_anim", "export_negative_frame": "gltf_negative_frames", "use_selection": "gltf_selected",
    "export_all_influences": "gltf_all_vertex_influences", "export_influence_nb": "gltf_vertex_influences_nb",
    "export_anim_single_armature": "gltf_export_anim_single_armature", "use_visible": "gltf_visible",
    "use_renderable": "gltf_renderable", "use_active_collection": "gltf_active_collection",
    "use_active_collection_with_nested": "gltf_active_collection_with_nested",
}  # fmt: skip


class HookedSettings(Mapping):
    """Settings of the glTF exporter by the names in its dialog, from the table that its hooks get."""

    def __init__(self, table: Mapping[str, Any]):
        self.table = table

    def __getitem__(self, name: str) -> Any:
        return self.table[GLTF_HOOK_NAMES.get(name, name.replace("export_", "gltf_", 1))]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


def change_label(settings: ExportSettings, name: str, value: Any) -> str:
    """Returns a label for the change of a setting: `Switch Off Apply Modifiers`, `Set Sampling Rate to 1`."""
    label = settings.label(name)
    if isinstance(value, bool):
        return f"Switch {'On' if value else 'Off'} {label}"
    if isinstance(value, float | int):
        return f"Set {label} to {value:g}"
    if isinstance(value, set):
        return f"Complete {label}"
    return f"Set {label} to {settings.item_label(name, value)}"


def setting_trap(
    key: str, obj: bpy.types.Object, text: str, settings: ExportSettings, level: str = WARNING, **change
) -> Trap:
    """Returns a trap that a change of the exporter's settings mends, the first of which gives the button its label."""
    name, value = next(iter(change.items()))
    return Trap(key, obj, text, change_label(settings, name, value), level, change)


def writes_points(settings: ExportSettings) -> bool:
    """Returns whether the exporter writes evaluated points: everything leaves as it is seen."""
    if settings.format in EVALUATED_FORMATS:
        return True
    skins = (settings.value(name) for name in ("export_shapekeys", "export_armatures"))
    return settings.format == "USD" and settings.known and not any(skins)


# what is exported -------------------------------------------------------------------------------------------------------


def is_exported(obj: bpy.types.Object, settings: ExportSettings) -> bool:
    """Returns whether an object is among those that the exporter is about to write."""
    return not absence(obj, settings)


def absence(obj: bpy.types.Object, settings: ExportSettings) -> str:
    """Returns why an exporter is about to leave an object out, as a name of what mends it; "" if it writes it."""
    if any(settings.value(name) for name in SELECTION_SETTINGS) and not obj.select_get():
        return "SELECTION"
    if any(settings.value(name) for name in VISIBILITY_SETTINGS) and not obj.visible_get():
        return "VISIBILITY"
    rendered = settings.value(RENDER_SETTING) or (
        settings.format in {"USD", "Alembic"} and settings.value("evaluation_mode") == "RENDER"
    )
    if rendered and obj.hide_render:
        return "RENDER"
    if settings.value("use_active_collection"):
        active = bpy.context.view_layer.active_layer_collection.collection
        nested = settings.value("use_active_collection_with_nested") is not False
        if obj.name not in (active.all_objects if nested else active.objects):
            return "COLLECTION"
    types = settings.value("object_types")  # FBX
    return "TYPES" if types is not None and obj.type not in types else ""


def exported(objects: Iterable[bpy.types.Object], settings: ExportSettings) -> list[bpy.types.Object]:
    """Returns the meshes of `objects` that the exporter is about to write."""
    return [obj for obj in objects if obj.type == "MESH" and is_exported(obj, settings)]


def names_of(objects: Iterable[bpy.types.Object]) -> str:
    """Returns the objects in words, at most `MAX_NAMES` of them by name."""
    names = [describe(obj) for obj in objects]
    if len(names) > MAX_NAMES:
        names = [*names[: MAX_NAMES - 1], plural(len(names) - MAX_NAMES + 1, "other mesh", "other meshes")]
    return join_words(names)


# the bake -----------------------------------------------------------------------------------------------------------


def plays_bake(obj: bpy.types.Object) -> bool:
    """Returns whether keys that Thew baked are playing."""
    bake = saved_bakes.playing(obj)
    return bake is not None and any(not key.mute for key in writing.keys_of(obj, bake))


def in_bones(obj: bpy.types.Object) -> bool:
    """Returns whether helper bones play a bake of the mesh."""
    return helper_playing.is_shown(obj)


def played_range(obj: bpy.types.Object) -> tuple[int, int] | None:
    """Returns the first and the last frame of the clip that plays; None where strips play several, or nothing of the bake."""
    bake = saved_bakes.playing(obj)
    clip = key_playing.played_clip(obj, bake) if bake is not None else None
    return (clip.start, clip.end) if clip is not None else None


def clip_ranges(obj: bpy.types.Object) -> list[tuple[bpy.types.Action, int, int]]:
    """Returns the actions of the bones that have a clip in the bake that plays, each with the clip's first and last frame."""
    return [(action, clip.start, clip.end) for action, clip in clips.exported_actions(obj).items()]


def in_rest_space(obj: bpy.types.Object) -> bool:
    """Returns whether the keys act before the armature, which the file must then hold too."""
    bake = saved_bakes.playing(obj)
    return bake is not None and bake.space == "REST"


def muted_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    """Returns the baked keys that do not play although curves move them."""
    curves = (curve for place in key_curves.places_of(obj) for curve in place.curves())
    moved = {curve.data_path for curve in curves if not curve.mute}
    return [key for key in writing.baked_keys(obj) if key.mute and key_curves.value_path(key.name) in moved]


def skin_holders(obj: bpy.types.Object) -> list[str]:
    """Returns the modifiers and parents, in words, for which exporters write a skin of the mesh."""
    holders = [f"the modifier “{modifier.name}”" for modifier in armature_modifiers(obj)]
    if obj.parent is not None and obj.parent.type == "ARMATURE" and obj.parent_type == "ARMATURE":
        holders.append(f"the parent “{obj.parent.name}”")
    return holders


def armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """Returns the Armature modifiers with an armature, also those that are switched off: exporters write these too."""
    return [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE" and modifier.object is not None]


def exported_range_traps(
    obj: bpy.types.Object, settings: ExportSettings, first: int, last: int, change: Mapping[str, Any] | None = None
) -> Iterator[Trap]:
    """Yields the trap of an export of frames `first`..`last` that cuts the bake, or goes on after it.

    `change`: settings of the exporter that mend it; without them it writes the scene's range, which is set instead.
    """
    played = played_range(obj)
    if played is None or (first, last) == played:
        return
    start, end = played
    cut = first > start or last < end
    text = f"{settings.format} export writes frames {first} to {last}, and the bake of {describe(obj)} has {start} to {end}"
    text += ": some of its frames are cut off" if cut else ": beside them the flesh does not move"
    key, remedy = ("export_range", f"Write {start} to {end}") if change else ("scene_range", "Set Frame Range of Scene")
    yield Trap(key, obj, text, remedy, WARNING if cut else NOTICE, change or {})
