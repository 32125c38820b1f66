# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluated animation of an ID: the curves that take part, of its action, of its NLA strips and of its drivers.

No other module reads this. Blender evaluates strips first, from the lowest track to the highest, then the active action on top of
them. A solo track silences all else, and while a strip is edited in tweak mode the tracks from it on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy

from ..saved import timing

# the active action ------------------------------------------------------------------------------------------------------


def curves_in(animation: bpy.types.AnimData | None):
    """Returns the collection of F-curves of an animated ID, in the layered actions of 4.4 on as in those before; () if it has none."""
    if animation is None or animation.action is None:
        return ()
    return curves_of(animation.action, getattr(animation, "action_slot", None))


def curves_of(action: bpy.types.Action, slot):
    """Returns the collection of F-curves that a slot of an action plays (`slot` None: before 4.4 all of them, later ())."""
    if not hasattr(action, "layers"):
        return action.fcurves
    for layer in action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(slot) if slot is not None else None
            if bag is not None:
                return bag.fcurves
    return ()


def ensure_curves(action: bpy.types.Action, slot):
    """Returns the collection of F-curves of a slot, made where the action has none for it (`slot` None: before 4.4)."""
    return ensure_bag(action, slot).fcurves


def ensure_bag(action: bpy.types.Action, slot):
    """Returns what holds the F-curves of a slot and their groups, made where the action has none (`slot` None: before 4.4)."""
    if not hasattr(action, "layers"):
        return action
    layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
    strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


def every_curve(action: bpy.types.Action) -> Iterator[bpy.types.FCurve]:
    """Yields the F-curves of every slot of an action."""
    if not hasattr(action, "layers"):
        yield from action.fcurves
        return
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                yield from bag.fcurves


def slots_of(action: bpy.types.Action, kind: str) -> list:
    """Returns the slots of an action for IDs of a kind, such as OBJECT or KEY; [None] before Blender 4.4, which has none."""
    if not hasattr(action, "slots"):
        return [None] if action.id_root in {kind, ""} else []
    return [slot for slot in action.slots if slot.target_id_type in {kind, "UNSPECIFIED"}]


def slot_named(action: bpy.types.Action, identifier: str):
    """Returns the slot of an action with this identifier; None where there is none, and before Blender 4.4."""
    return action.slots.get(identifier) if hasattr(action, "slots") else None


def identifier_of(slot) -> str:
    """Returns the identifier of a slot; "" for None."""
    return slot.identifier if slot is not None else ""


def active_slot(animation: bpy.types.AnimData):
    """Returns the slot that an ID plays; None without one, and before Blender 4.4."""
    return getattr(animation, "action_slot", None)


def assign(animation: bpy.types.AnimData, action: bpy.types.Action | None, slot) -> None:
    """Lets an ID play a slot of an action (`slot` None: before 4.4 the action, later nothing of it); touches only what differs."""
    if animation.action != action:
        animation.action = action
    if action is not None and hasattr(animation, "action_slot") and animation.action_slot != slot:
        animation.action_slot = slot


def drop_action(action: bpy.types.Action, slot) -> None:
    """Removes an action that nobody plays any more, or else its slot (None before Blender 4.4)."""
    if action.users == 0:
        bpy.data.actions.remove(action)
    elif slot is not None and not slot.users():
        action.slots.remove(slot)


def drop_empty_action(id_data: bpy.types.ID) -> bool:
    """Takes an action without curves from an ID, and its animation data where nothing else is in it; returns whether there was one."""
    animation = id_data.animation_data
    if animation is None or animation.action is None or len(curves_in(animation)):
        return False
    played = animation.action, getattr(animation, "action_slot", None)
    animation.action = None
    drop_action(*played)
    if not animation.drivers and not animation.nla_tracks:
        id_data.animation_data_clear()
    return True


# strips -----------------------------------------------------------------------------------------------------------------


def playing_tracks(animation: bpy.types.AnimData | None) -> list[bpy.types.NlaTrack]:
    """Returns the NLA tracks that are evaluated, from the lowest one on."""
    if animation is None or not animation.use_nla:
        return []
    tracks = list(animation.nla_tracks)
    if any(track.is_solo for track in tracks):
        tracks = [track for track in tracks if track.is_solo]
    return [track for track in tracks if not track.mute]


def strips(animation: bpy.types.AnimData | None) -> list[bpy.types.NlaStrip]:
    """Returns the NLA strips that are evaluated, including strips within strips, from the lowest track on."""
    found, left = [], [strip for track in playing_tracks(animation) for strip in track.strips]
    while left:
        strip = left.pop(0)
        if strip.mute:
            continue
        found.append(strip)
        left += list(strip.strips)
    return found


def curves(animation: bpy.types.AnimData | None) -> Iterator[bpy.types.FCurve]:
    """Yields every curve that takes part in the evaluation: of the action, of strips, and the drivers."""
    if animation is None:
        return
    yield from animation.drivers
    yield from curves_in(animation)
    for strip in strips(animation):
        yield from strip.fcurves  # influence and time
        if strip.action is not None:
            yield from curves_of(strip.action, getattr(strip, "action_slot", None))


def value_at(
    animation: bpy.types.AnimData, wanted: list[bpy.types.FCurve], frame: float, default: float = 0.0
) -> float:
    """Returns the value at a frame of the scene that Blender gives a property with the curves `wanted`.

    Strips act from the lowest track to the highest, each on what those below give, and the active action on top of them. Where none
    acts, Blender gives the property its `default`, not the value that the artist has set. Transitions are left out.
    """
    own, lying = list(curves_in(animation)), strips(animation)
    active = next((curve for curve in wanted if curve in own), None)
    played = any(strip.action and curve in strip_curves(strip) for strip in lying for curve in wanted)
    if (active is None and not played) or not any(len(track.strips) for track in playing_tracks(animation)):
        return (active or wanted[0]).evaluate(frame)
    value = default
    for track in playing_tracks(animation):
        value = value_on(value, list(track.strips), wanted, frame, default)
    silenced = animation.use_tweak_mode or any(track.is_solo for track in animation.nla_tracks)
    if active is not None and not silenced and action_acts(animation, own, frame):
        mix = animation.action_blend_type, animation.action_influence
        value = blended(value, active.evaluate(frame), *mix, default)
    return value


def value_on(
    value: float, strips: list[bpy.types.NlaStrip], wanted: list[bpy.types.FCurve], frame: float, default: float
) -> float:
    """Returns what the strips of a track make of the value that those below give."""
    strip = acting_strip(strips, frame)
    if strip is None:
        return value
    time = strip_time(strip, frame)
    if len(strip.strips):
        return value_on(value, list(strip.strips), wanted, time, default)
    curves = strip_curves(strip) if strip.action else []
    curve = next((curve for curve in wanted if curve in curves), None)
    if curve is None:
        return value
    return blended(value, curve.evaluate(time), strip.blend_type, strip_influence(strip, frame), default)


def blended(below: float, value: float, kind: str, influence: float, default: float) -> float:
    """Returns a value blended onto the one below it, as Blender's NLA does for properties that are neither scales nor rotations."""
    if kind == "ADD":
        return below + influence * value
    if kind == "SUBTRACT":
        return below - influence * value
    if kind == "MULTIPLY":
        return below + influence * (below * value - below)
    if kind == "COMBINE":
        return below + influence * (value - default)
    return below + influence * (value - below)


def action_acts(animation: bpy.types.AnimData, own: list[bpy.types.FCurve], frame: float) -> bool:
    """Returns whether the active action acts at a frame above NLA tracks; `own`: its curves."""
    extrapolation = animation.action_extrapolation
    if extrapolation == "HOLD":
        return True
    ranges = [curve.range() for curve in own]
    first, last = min(each[0] for each in ranges), max(each[1] for each in ranges)
    last = last if last > first else first + 1.0  # as Blender has it for a single key
    return first <= frame and (frame <= last or extrapolation == "HOLD_FORWARD")


def strip_influence(strip: bpy.types.NlaStrip, frame: float) -> float:
    """Returns the influence of a strip at a frame of the scene; beyond its ends that of the end."""
    frame = min(max(frame, strip.frame_start), strip.frame_end)
    if strip.use_animated_influence:
        curve = next((each for each in strip.fcurves if each.data_path == "influence"), None)
        return min(max(curve.evaluate(frame) if curve is not None else strip.influence, 0.0), 1.0)
    if strip.blend_in and frame <= strip.frame_start + strip.blend_in:
        return (frame - strip.frame_start) / strip.blend_in
    if strip.blend_out and frame >= strip.frame_end - strip.blend_out:
        return (strip.frame_end - frame) / strip.blend_out
    return 1.0


def acting_strip(strips: list[bpy.types.NlaStrip], frame: float) -> bpy.types.NlaStrip | None:
    """Returns the one strip of a track that acts at a frame, as Blender chooses it; None where none does.

    The first strip that holds the frame, else the last one before it unless its extrapolation is Nothing. Before all of them the
    first acts if it holds in both directions. A strip that is muted keeps its place and does nothing.
    """
    strip = next((each for each in strips if each.frame_start <= frame <= each.frame_end), None)
    if strip is None:
        gone = [each for each in strips if each.frame_end < frame]
        if gone:
            strip = gone[-1] if gone[-1].extrapolation != "NOTHING" else None
        elif strips and strips[0].extrapolation == "HOLD":
            strip = strips[0]
    return None if strip is None or strip.mute else strip


def strip_curves(strip: bpy.types.NlaStrip) -> list[bpy.types.FCurve]:
    """Returns the curves of the action that a strip plays."""
    return list(curves_of(strip.action, getattr(strip, "action_slot", None)))


def strip_time(strip: bpy.types.NlaStrip, frame: float) -> float:
    """Returns the frame of its action that a strip plays at a frame of the scene; beyond its ends that of the end."""
    timing = next((each for each in strip.fcurves if each.data_path == "strip_time"), None)
    if strip.use_animated_time and timing is not None:
        return timing.evaluate(min(max(frame, strip.frame_start), strip.frame_end))
    length, scale = strip.action_frame_end - strip.action_frame_start, max(strip.scale, 1e-6)
    gone = (min(max(frame, strip.frame_start), strip.frame_end) - strip.frame_start) / scale
    if length > 0.0:  # it may repeat; its last frame is the action's last one, elsewhere a turn begins with the first
        turned = gone % length
        ended = frame >= strip.frame_end and min(turned, length - turned) < 1e-4 * length
        gone = length if ended else turned
    return strip.action_frame_end - gone if strip.use_reverse else strip.action_frame_start + gone


def last_key(id_data: bpy.types.ID, scene: bpy.types.Scene) -> float | None:
    """Returns the last frame of `scene` that the action or the strips of an ID have a key in; None where there are none."""
    animation = id_data.animation_data
    ends = [curve.range()[1] for curve in curves_in(animation) if not curve.mute]
    ends += [strip.frame_end for strip in strips(animation)]
    return timing.frame_at(scene, max(ends)) if ends else None


def animates(id_data: bpy.types.ID, start: str = "") -> bool:
    """Returns whether curves or drivers move properties of an ID whose path begins with `start`."""
    return any(curve.data_path.startswith(start) for curve in curves(id_data.animation_data))


def actions(id_data: bpy.types.ID) -> set[bpy.types.Action]:
    """Returns the actions that take part in the animation of an ID."""
    animation = id_data.animation_data
    if animation is None:
        return set()
    found = {animation.action, *(strip.action for strip in strips(animation))}
    return {action for action in found if action is not None}


# the action that plays unchanged ------------------------------------------------------------------------------------------


def disturbance(animation: bpy.types.AnimData | None) -> str:
    """Returns why curves of the active action would not play as written, as the rest of a sentence; "" where they do."""
    if animation is None or not animation.use_nla or not len(animation.nla_tracks):
        return ""
    solo = next((track for track in animation.nla_tracks if track.is_solo), None)
    if solo is not None:
        return f"are silenced while the NLA track “{solo.name}” is solo: end its solo first (the star beside its name)"
    if animation.use_tweak_mode:
        return "are those of an NLA strip in tweak mode: leave it first (Tab in the NLA editor)"
    if animation.action_blend_type != "REPLACE":
        kind = animation.bl_rna.properties["action_blend_type"].enum_items[animation.action_blend_type].name
        return f"are blended with {kind} onto their NLA tracks: set the action's Blending to Replace in the NLA editor"
    if animation.action_influence != 1.0:
        share = f"{100.0 * animation.action_influence:.0f} %"
        return f"have an influence of {share} over their NLA tracks: set the action's Influence to 1 in the NLA editor"
    return ""


@dataclass(frozen=True)
class PlayedAction:
    """The one action whose frames an ID plays."""

    action: bpy.types.Action
    slot: object  # None before 4.4
    track: str  # name of the NLA track that it lies in, or ""
    plain: bool = True  # its frames are the scene's


def played_action(id_data: bpy.types.ID) -> PlayedAction | None:
    """Returns the one action that an ID plays: the active one, or that of its only strip; None where it has no such action, or
    several.
    """
    animation = id_data.animation_data
    if animation is None:
        return None
    lying = strips(animation)
    silenced = animation.use_nla and any(track.is_solo for track in animation.nla_tracks)
    if animation.action is not None and not silenced:
        slot = getattr(animation, "action_slot", None)
        track = next((each for each in lying if each.action == animation.action), None)
        return PlayedAction(animation.action, slot, track_of(animation, track), not disturbance(animation))
    if len(lying) != 1 or lying[0].action is None:
        return None
    (strip,) = lying
    as_written = (
        strip.scale == 1.0 and strip.repeat == 1.0 and not strip.use_reverse
        and strip.blend_in == strip.blend_out == 0.0
        and not strip.use_animated_influence and not strip.use_animated_time
        and abs(strip.frame_start - strip.action_frame_start) < 1e-4 and strip.blend_type in {"REPLACE", "COMBINE"}
    )  # fmt: skip
    return PlayedAction(strip.action, getattr(strip, "action_slot", None), track_of(animation, strip), as_written)


def track_of(animation: bpy.types.AnimData, strip: bpy.types.NlaStrip | None) -> str:
    """Returns the name of the track that holds a strip, or "" (None: no strip)."""
    if strip is None:
        return ""
    return next((track.name for track in animation.nla_tracks if strip.name in track.strips), "")
