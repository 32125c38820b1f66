# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of keyframed flesh: fills and edits the list, relaxes sculpts, sets velocities, models new shapes."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import keyframed
from ..live.events import report_event
from ..logic.errors import Refusal
from ..logic.extents import check_coordinates
from ..logic.inbetween import SculptedSurface
from ..logic.keyframes import TIME_TOLERANCE
from ..logic.names import describe
from ..logic.native import core
from ..logic.states import Event
from ..logic.tasks import Progress, Task, Work, span
from ..saved.timing import curve_time
from ..scene import keyframe_shapes, keyframe_times, modifier
from ..scene.mesh import active_attribute, basis_positions, key_positions, triangles_of
from ..scene.writing import baked_keys

#: Relax Sculpt: stiffness that holds a sculpt where the dial stands in the middle, relative to the flesh's own. One:
#: neither outweighs the other there.
RELAX_STIFFNESS = 1.0

# adding ---------------------------------------------------------------------------------------------------------------


def add(obj, scene, names: list[str] | None = None, frames: tuple[float, float] | None = None, cyclic=False) -> Task:
    """Builds the task that adds keyframed flesh to `obj`, through its shape keys at even times.

    `names`: the shape keys (`None`: all that are not muted). `frames`: the first and the last time (`None`: the scene's
    range). An existing list is kept and computed anew, and a deleted modifier of ours is made again. After a failure
    nothing of it is left.
    """
    keyframe_shapes.check_mesh(obj)
    keyframe_times.check(obj)
    made, group = obj.thew.made, obj.thew.keyframed
    had = made.keyframed
    filled = not len(group.keyframes)
    wanted = initial_shape_keys(obj, names) if filled or names is not None else []
    if not had:
        made.found_attribute = active_attribute(obj.data)
    try:
        modifier.insert_first(obj)
        made.keyframed = True
        keyframed.register.look_again()
        group.down = keyframe_shapes.gravity_in(obj, scene)
        if filled:
            if cyclic:
                group.cyclic = True
            first, last = frames or (scene.frame_start, scene.frame_end)
            fill(obj, wanted, (curve_time(scene, first), curve_time(scene, last)))
        made.shows_bake = False
        obj.thew.enabled = True
        keyframed.apply_state(obj)
        return (yield from keyframed.compute(obj, scene))
    except BaseException:
        if not had:
            keyframed.remove(obj)
        raise


def initial_shape_keys(obj: bpy.types.Object, names: list[str] | None) -> list[str]:
    """Returns the names of the shape keys to begin with; a single one is preceded by the basis."""
    keys = obj.data.shape_keys
    if names is not None:
        missing = [name for name in names if name not in keys.key_blocks]
        if missing:
            raise Refusal(f"{describe(obj)} has no shape key “{missing[0]}”: choose among its own")
        return names
    baked = baked_keys(obj)
    found = [key.name for key in keys.key_blocks if key != keys.reference_key and not key.mute and key not in baked]
    if not found:
        raise Refusal(f"All shape keys of {describe(obj)} are muted: switch on those that should be keyframes")
    return found if len(found) > 1 else [keys.reference_key.name, *found]


def fill(obj: bpy.types.Object, names: list[str], frames: tuple[float, float]) -> None:
    """Fills the list with these shape keys, at even times between two frames. The motion begins and ends at rest."""
    group = obj.thew.keyframed
    group.keyframes.clear()
    for name in names:
        new = group.keyframes.add()
        new["shape"] = name
    reached = [*range(len(names)), *([0] if group.cyclic else [])]
    times = np.round(np.linspace(*frames, len(reached)), 0 if frames[1] - frames[0] >= len(reached) else 3)
    if not group.cyclic:
        group.keyframes[0].velocity = group.keyframes[len(names) - 1].velocity = "ZERO"
    group.active = 0
    keyframe_times.write(obj, [(float(time), place) for time, place in zip(times, reached, strict=True)])


def restore(obj: bpy.types.Object, scene) -> None:
    """Reads the direction of gravity again, and restores what was deleted by hand: the modifier, the curve of times."""
    keyframed.check_keyframed(obj)
    modifier.insert_first(obj)
    obj.thew.keyframed.down = keyframe_shapes.gravity_in(obj, scene)
    if keyframe_times.is_curve_lost(obj):
        keyframe_times.write(obj, keyframe_times.points(obj))


# the list -------------------------------------------------------------------------------------------------------------


def key_add(obj: bpy.types.Object, scene, shape: str = "", frame: float | None = None) -> int:
    """Adds a key for a shape key ("": the active one) at a frame (`None`: the scene's). Returns its list index."""
    keyframed.check_keyframed(obj)
    keys, group = obj.data.shape_keys, obj.thew.keyframed
    shape = shape or (obj.active_shape_key.name if obj.active_shape_key is not None else "")
    if keys is None or shape not in keys.key_blocks:
        raise Refusal(f"{describe(obj)} has no shape key “{shape}”: choose one of its own")
    frame = curve_time(scene) if frame is None else frame
    found = keyframe_times.points(obj)
    check_time_free(obj, found, frame)
    new = group.keyframes.add()
    new["shape"], new.kept = shape, frame
    group.active = len(group.keyframes) - 1
    keyframe_times.write(obj, [*found, (frame, group.active)])
    keyframed.apply_state(obj)
    return group.active


def check_time_free(obj: bpy.types.Object, found: list[keyframe_times.TimePoint], frame: float) -> None:
    """Refuses a time that another key has."""
    for time, place in found:
        if abs(time - frame) < TIME_TOLERANCE:
            shape = obj.thew.keyframed.keyframes[place].shape
            raise Refusal(f"{describe(obj)} reaches “{shape}” at frame {frame:g} already: go to another frame")


def time_add(obj: bpy.types.Object, scene, place: int, frame: float | None = None) -> None:
    """Adds a further time to a key of the list."""
    frame = curve_time(scene) if frame is None else frame
    found = keyframe_times.points(obj)
    check_time_free(obj, found, frame)
    keyframe_times.write(obj, [*found, (frame, place)])


def close_loop(obj: bpy.types.Object) -> float:
    """Adds the first key again after the last one. Returns its frame."""
    keyframed.check_keyframed(obj)
    found = keyframe_times.points(obj)
    if len(found) < 2:
        raise Refusal(f"{describe(obj)} has fewer than two keys in time: add keys first")
    group = obj.thew.keyframed
    shapes = [group.keyframes[place].shape for _, place in found]
    if shapes[0] == shapes[-1]:
        raise Refusal(f"The loop of {describe(obj)} is closed: it begins and ends with “{shapes[0]}”")
    frame = found[-1][0] + max(1.0, float(round((found[-1][0] - found[0][0]) / (len(found) - 1))))
    keyframe_times.write(obj, [*found, (frame, found[0][1])])
    return frame


def key_remove(obj: bpy.types.Object, place: int) -> None:
    """Removes a key and its times from the list. Its shape key stays."""
    group = obj.thew.keyframed
    found, key = keyframe_times.points(obj), group.keyframes[place]
    lost = keyframe_times.is_curve_lost(obj)
    muted = keyframe_shapes.muted_block(obj, key)
    heir = next((o for i, o in enumerate(group.keyframes) if i != place and o.shape == key.shape), None)
    if muted is not None and heir is not None:
        keyframe_shapes.note_muted(heir, muted)
    elif muted is not None:
        muted.mute = False
    group.keyframes.remove(place)
    group.active = max(0, min(group.active, len(group.keyframes) - 1))
    if not lost:
        keyframe_times.write(obj, [(f, v - (v > place)) for f, v in found if v != place])


def key_move(obj: bpy.types.Object, place: int, to: int) -> None:
    """Moves a key within the list. Nothing else changes."""
    group = obj.thew.keyframed
    if not 0 <= to < len(group.keyframes):
        return
    found, lost = keyframe_times.points(obj), keyframe_times.is_curve_lost(obj)
    order = list(range(len(group.keyframes)))
    order.insert(to, order.pop(place))
    group.keyframes.move(place, to)
    group.active = to
    if not lost:
        keyframe_times.write(obj, [(frame, order.index(value)) for frame, value in found])


# sculpts --------------------------------------------------------------------------------------------------------------


def block_to_edit(obj: bpy.types.Object, place: int) -> bpy.types.ShapeKey:
    """Returns the shape key of a key of the list. Raises a `Refusal` if its vertices may not be moved."""
    keyframed.check_keyframed(obj)
    key = obj.thew.keyframed.keyframes[place]
    block = keyframe_shapes.block_of(obj, key)
    if block is None:
        raise Refusal(f"{describe(obj)} has no shape key “{key.shape}”: choose one of its own in the list")
    if block == obj.data.shape_keys.reference_key:
        raise Refusal(
            f"“{block.name}” of {describe(obj)} is its shape at rest, which has no energy: choose another key"
        )
    return block


def fixed_groups(obj: bpy.types.Object, shape: str) -> list[str]:
    """Returns the vertex groups that are fixed at a shape key: the motion's own, and those of the cuts around it."""
    group, keys = obj.thew.keyframed, obj.thew.keyframed.keyframes
    reached = [keys[place] for _, place in keyframe_times.points(obj)]
    before = next((key.fixed for key in reversed(reached) if key.cut), "") if group.cyclic else ""
    names = [group.fixed]
    for key in reached:
        after = key.fixed if key.cut else before
        if key.shape == shape:
            names += [before, after]
        before = after
    return [name for name in dict.fromkeys(names) if name and obj.vertex_groups.get(name) is not None]


def relax(obj: bpy.types.Object, place: int, amount: float) -> Task:
    """Builds the task that relaxes a sculpt towards the rest shape by `amount`, 0..1.

    Returns the energy before and after.
    """
    block = block_to_edit(obj, place)
    key, group = obj.thew.keyframed.keyframes[place], obj.thew.keyframed
    basis, triangles, shape = basis_positions(obj.data), triangles_of(obj.data), key_positions(block)
    name = describe(obj)
    check_coordinates(basis, name)
    check_coordinates(shape, f"the shape key “{block.name}” of {name}")
    masks = keyframe_shapes.vertices_of(obj, fixed_groups(obj, key.shape)).values()
    fixed = np.logical_or.reduce(list(masks)) if masks else None
    thew, bending = core(), group.bending

    def relax_natively(progress):
        surface = SculptedSurface.weld_mesh(thew, basis, triangles, shape[None], bending, name)
        points = surface.points(shape)
        before = surface.energy(points)
        if amount <= 0.0:
            return shape, before, before
        weight = RELAX_STIFFNESS * (1.0 - min(amount, 0.999)) / amount
        held = None if fixed is None else surface.welded.mask(fixed)
        calmed = surface.shell.relax(points, weight, fixed=held, progress=lambda f, text="": progress(f, text))
        return surface.shape(calmed, shape, points), before, surface.energy(calmed)

    calmed, before, after = yield Work("Lowering the energy", relax_natively, 0.05, 0.95)
    block.points.foreach_set("co", np.ascontiguousarray(calmed, dtype=np.float32).ravel())
    obj.data.update_tag()
    key.energy = f"{before:.3g} → {after:.3g}"
    report_event(obj, keyframed.register.state_of(obj), Event.MESH_TOUCHED)
    return before, after


def model(obj, scene, vertices: list[int], positions: np.ndarray) -> Task:
    """Builds the task that makes a new keyframe at the scene's frame. Returns the name of the shape key.

    The keyframe is the shown shape with some vertices dragged to `positions` [p, 3], object space before the armature,
    within what the motion can show. At the time of a key that key's own sculpt is changed.
    """
    yield from span(keyframed.bring_up_to_date(obj, scene), 0.0, 0.5)
    count = len(obj.data.vertices)
    if not len(vertices):
        raise Refusal(f"Nothing of {describe(obj)} was dragged: name a vertex and where it should be")
    bad = [v for v in vertices if not 0 <= v < count]
    if bad:
        raise Refusal(f"{describe(obj)} has no vertex {bad[0]}: they are counted from 0 to {count - 1}")
    positions = np.asarray(positions, dtype=np.float64).reshape(len(vertices), 3)
    if not np.isfinite(positions).all():
        raise Refusal(f"A place for vertex {vertices[0]} of {describe(obj)} is not a number: give three numbers")
    yield Progress(0.6, "Modelling")
    frame = curve_time(scene)
    shape = keyframed.register.state_of(obj).motion.model_shape(frame, vertices, positions)
    return keep_shape(obj, scene, shape)


def keep_shape(obj, scene, shape: np.ndarray) -> str:
    """Makes `shape` float32[n, 3] a keyframe at the scene's frame. Returns the name of its shape key."""
    frame = curve_time(scene)
    here = next((place for time, place in keyframe_times.points(obj) if abs(time - frame) < TIME_TOLERANCE), None)
    if here is not None:
        block = block_to_edit(obj, here)
    else:
        active = obj.active_shape_key_index
        block = obj.shape_key_add(name=f"Keyframe {frame:g}", from_mix=False)
        block.relative_key, block.value = obj.data.shape_keys.reference_key, 0.0
        obj.active_shape_key_index = active
    block.points.foreach_set("co", np.ascontiguousarray(shape, dtype=np.float32).ravel())
    obj.data.update_tag()
    report_event(obj, keyframed.register.state_of(obj), Event.MESH_TOUCHED)
    if here is None:
        key_add(obj, scene, block.name, frame)
    return block.name


# velocities -----------------------------------------------------------------------------------------------------------


def arrow_from_neighbours(obj: bpy.types.Object, scene, place: int, leaving: bool = False) -> np.ndarray:
    """Sets the velocity at a key to the mean velocity from the shape before to the one after. Returns it."""
    keyframed.check_keyframed(obj)
    key, found = obj.thew.keyframed.keyframes[place], keyframe_times.points(obj)
    at = next((i for i, (_, value) in enumerate(found) if value == place), None)
    if at is None or len(found) < 2:
        raise Refusal(
            f"“{key.shape}” of {describe(obj)} has no neighbours in time: give it and another key a time first"
        )
    a, b = max(at - 1, 0), min(at + 1, len(found) - 1)
    if key.cut:
        a, b = (at, b) if leaving else (a, at)
    if a == b:
        raise Refusal(
            f"Nothing is {'after' if leaving else 'before'} “{key.shape}” of {describe(obj)}: add a key there first"
        )
    plan = keyframe_shapes.plan_of(obj, scene)
    means = [key_positions(obj.data.shape_keys.key_blocks[plan.keys[i].name]).mean(axis=0) for i in (a, b)]
    arrow = (means[1] - means[0]) / ((found[b][0] - found[a][0]) / plan.fps)
    set_arrow(key, arrow, leaving)
    return arrow


def set_arrow(key, arrow: np.ndarray, leaving: bool = False) -> None:
    """Sets the velocity at a key to an arrow [3], object space, per second."""
    if leaving:
        key.leaving_arrow, key.leaving = arrow, "ARROW"
    else:
        key.arrow, key.velocity = arrow, "ARROW"


def arrow_at(key, leaving: bool = False) -> tuple:
    """Returns the kind of velocity and the arrow of a key, for `put_arrow`."""
    return (key.leaving, tuple(key.leaving_arrow)) if leaving else (key.velocity, tuple(key.arrow))


def put_arrow(key, before: tuple, leaving: bool = False) -> None:
    """Restores what `arrow_at` returned."""
    set_arrow(key, before[1], leaving)
    if leaving:
        key.leaving = before[0]
    else:
        key.velocity = before[0]
