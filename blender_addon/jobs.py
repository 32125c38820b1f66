# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operators, the frame handler and the command line do, each a plain function or a task.

Nothing of the scene is changed before everything that can fail or be cancelled is over.
"""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from . import anchors, building, modifier, poses, properties, reading, rigging, session, writing
from .logic.errors import Refusal
from .logic.keys import frame_range
from .logic.sentences import notes_of, plural
from .logic.tasks import Progress, Task, finish, span
from .reading import describe
from .session import register

# adding and simulating ------------------------------------------------------------------------------------------------


def add(obj, scene, view_layer, cells_across: int | None = None, method: str | None = None, simulate=True) -> Task:
    """Give `obj` flesh, or build it anew; gives the `Flesh`. `simulate`: its motion too."""
    found = reading.subject(obj, view_layer)
    view_layer.update()
    had = obj.thew.made.flesh
    stance = session.Stance.saved(obj) if had else session.Stance.read(found, scene)
    recipe = session.Recipe.of(obj, scene, stance.guessed_height)
    recipe = replace(recipe, cells_across=cells_across or recipe.cells_across, method=method or recipe.method)
    frames = _live_frames(obj, scene) if simulate else None
    if not had:
        modifier.check_place(obj, found.modifier)
    flesh = register.flesh(obj) if had else session.Flesh()
    yield from building.build(flesh, found, stance, recipe, scene, view_layer, frames)

    settings, made = obj.thew, obj.thew.made
    settings.cells_across, settings.method = recipe.cells_across, recipe.method
    if not had:
        stance.save(obj)
        active = obj.data.attributes.active
        made.found_attribute = active.name if active else ""
        kept_position(obj, flesh, found, view_layer, scene)
        modifier.insert(obj, found.modifier, tree_kind(flesh))
        made.flesh = True
        register.fleshes[obj.session_uid] = flesh
        register.look_again()
    made.shows_bake = False
    settings.enabled = True
    apply_state(obj)
    settle(obj, flesh, scene)
    return flesh


def simulate(obj, scene, view_layer, start: int | None = None, end: int | None = None) -> Task:
    """Read the poses again and simulate them; a range that is given becomes the object's own."""
    check_flesh(obj)
    found = reading.subject(obj, view_layer)
    frames = _live_frames(obj, scene)
    own = start is not None or end is not None
    if own:
        frames = (frames[0] if start is None else start, frames[1] if end is None else end)
        _check_range(obj, *frames)
    flesh = register.flesh(obj)
    recipe = session.Recipe.of(obj, scene)
    stance = session.Stance.saved(obj)
    yield from building.build(flesh, found, stance, recipe, scene, view_layer, frames)
    settings = obj.thew
    settings.settled = False
    if own and frames != (scene.frame_start, scene.frame_end):
        settings.use_scene_range = False
        settings.frame_start, settings.frame_end = frames
    settings.made.shows_bake = False
    settings.enabled = True
    apply_state(obj)
    settle(obj, flesh, scene)
    return flesh


def update(obj, scene, view_layer, flesh: session.Flesh, still: bool | None = None) -> Task:
    """Bring a live object's clip up to date with its settings and, where that is in doubt, with Blender's data.

    `still`: the clip may stay behind the rigs, because flesh is shown settled (None: if the artist looks at it so).
    """
    still = obj.thew.settled if still is None else still
    recipe = session.Recipe.of(obj, scene)
    frames = _live_frames(obj, scene)
    known = flesh.clip is not None and flesh.covers(*frames) and not flesh.suspect_motion and not moved(obj, flesh)
    if known and not flesh.suspect_mesh and not renamed(obj, flesh):
        place = building.placed(flesh.character, flesh.stance, recipe)
        rigs = rigging.resolve(obj, flesh.character, flesh.stance, place)
        parts = flesh.character, flesh.stance, recipe, flesh.motion, flesh.offsets
        yield from building.make(flesh, *parts, rigs, still)
    else:
        found, stance = reading.subject(obj, view_layer), session.Stance.saved(obj)
        yield from building.build(flesh, found, stance, recipe, scene, view_layer, frames, known, still)
    settle(obj, flesh, scene)
    return flesh


def outdated(obj, scene, flesh: session.Flesh, still: bool | None = None) -> bool:
    """Whether `update` has something to do; cheap enough to ask every frame."""
    if flesh.clip is None or flesh.suspect_mesh or flesh.suspect_motion:
        return True
    if flesh.behind and not (obj.thew.settled if still is None else still):
        return True
    if flesh.recipe != session.Recipe.of(obj, scene) or not flesh.covers(*_live_frames(obj, scene)):
        return True
    return moved(obj, flesh)


def moved(obj, flesh: session.Flesh) -> bool:
    """Whether other curves or drivers move the rigs' controls than when they were read."""
    return flesh.motion.moving != rigging.moving(obj)


def renamed(obj, flesh: session.Flesh) -> bool:
    """Whether the bones that were read are not those on which rigs may hang now: renamed, made anew, or gone."""
    armature = anchors.armature_of(obj)
    if not len(obj.thew.rigs) or armature is None:
        return False
    known = set(flesh.character.bones)
    wanted = {anchors.found_bone(armature, rig) for rig in obj.thew.rigs if rig.guide == "BONE"} - {""}
    return not (wanted <= known and all(name in armature.data.bones for name in known))


def _live_frames(obj, scene) -> tuple[int, int]:
    start, end = obj.thew.frames(scene)
    _check_range(obj, start, end)
    return start, end


def _check_range(obj, start: int, end: int) -> None:
    if end < start:
        raise Refusal(f"The frame range {start} to {end} for {describe(obj)} is empty: let it end after it starts")


def check_flesh(obj) -> None:
    """Refuse an object that cannot have or does not have flesh."""
    reading.check_editable(obj)
    if not obj.thew.made.flesh:
        raise Refusal(f"{describe(obj)} has no flesh: press Add Flesh first")
    if modifier.by_id(obj, obj.thew.made.modifier) is None:
        raise Refusal(f"Thew's modifier is gone from {describe(obj)}: press Remove, then Add Flesh again")


def rest(obj, scene, view_layer) -> Task:
    """Show the flesh at rest in the pose, and pushed by the rigs, as Blender shows them now; gives the `Flesh`."""
    check_flesh(obj)
    found = reading.subject(obj, view_layer)
    flesh = register.flesh(obj)
    view_layer.update()
    recipe, stance = session.Recipe.of(obj, scene), session.Stance.saved(obj)
    if flesh.body is None or flesh.suspect_mesh or renamed(obj, flesh):
        yield from building.build(flesh, found, stance, recipe, scene, view_layer, None, still=True)
    elif flesh.recipe != recipe:
        rigs = rigging.resolve(obj, flesh.character, stance, building.placed(flesh.character, stance, recipe))
        parts = flesh.character, stance, recipe, flesh.motion, flesh.offsets
        yield from building.make(flesh, *parts, rigs, still=True)
    reader = poses.PoseReader(found, flesh.character.bones, stance.mesh_matrix)
    with poses.shown([found.armature, found.obj]):
        view_layer.update()
        maps, mesh, _raw = reader.read(view_layer.depsgraph, scene.frame_current)
        controls = rigging.evaluated_controls(obj, view_layer.depsgraph)
    shape = flesh.settled_at(maps, mesh, flesh.pushed(obj, controls))
    settings = obj.thew
    settings.made.shows_bake = False
    settings.enabled = settings.settled = True
    apply_state(obj)
    note(obj, flesh)
    session.write_positions(obj, flesh, shape)
    flesh.posed = True
    return flesh


def with_body(obj, scene, view_layer) -> session.Flesh:
    """The flesh of `obj` with its body, built here and now where it is not: a file was just opened."""
    check_flesh(obj)
    flesh = register.flesh(obj)
    if flesh.body is None:
        found, stance = reading.subject(obj, view_layer), session.Stance.saved(obj)
        recipe = session.Recipe.of(obj, scene)
        finish(building.build(flesh, found, stance, recipe, scene, view_layer, None))
    return flesh


def tree_kind(flesh: session.Flesh) -> int:
    """Which node tree the object needs."""
    return modifier.PLAIN if flesh.offsets is None else modifier.WITH_KEYS


def kept_position(obj, flesh, found, view_layer, scene) -> None:
    """Write the skinned shape of this moment, so that the character does not jump before its first frame is looked up."""
    reader = poses.PoseReader(found, flesh.character.bones, flesh.stance.mesh_matrix)
    with poses.shown([found.armature, found.obj]):
        view_layer.update()
        maps, mesh, _raw = reader.read(view_layer.depsgraph, scene.frame_current)
    session.write_positions(obj, flesh, flesh.skinned_at(maps, mesh))


def settle(obj, flesh, scene) -> None:
    """After a build: the right node tree, the notes, and the shape of the current frame."""
    mine = modifier.by_id(obj, obj.thew.made.modifier)
    tree = modifier.tree(tree_kind(flesh))
    if mine.node_group != tree:
        mine.node_group = tree
    if flesh.refused:
        flesh.refused = False
        apply_state(obj)
    note(obj, flesh)
    session.present(obj, flesh, scene.frame_current_final)


def note(obj, flesh) -> None:
    """Keep what there is to say about the flesh with the object."""
    obj.thew.made.notes = "\n".join(notes_of(flesh, obj.thew.preview_mode))
    rigging.tell_problems(obj, flesh.rig_problems)


# what is shown --------------------------------------------------------------------------------------------------------


def apply_state(obj) -> None:
    """Switch modifiers and baked keys to what the settings say: live flesh, the bake, or the plain armature."""
    settings, made = obj.thew, obj.thew.made
    mine = modifier.by_id(obj, made.modifier)
    replaced = modifier.by_id(obj, made.armature_modifier)
    if mine is None or replaced is None:
        return
    known = register.known(obj)
    refused = known is not None and known.refused and not made.shows_bake
    enabled = settings.enabled and not refused
    baked = enabled and made.shows_bake
    live = enabled and not made.shows_bake
    if enabled:
        modifier.switch_off(obj, replaced)
    for uid in modifier.noted_ids(obj):
        if not enabled or (live and uid != made.armature_modifier):
            modifier.put_back(obj, uid)
    if baked:
        for before in reading.Subject(obj, replaced.object, replaced).before():
            modifier.switch_off(obj, before)
    modifier.set_shown(mine, live, live)
    writing.mute_baked(obj, not baked)


# baking ---------------------------------------------------------------------------------------------------------------


def bake(obj, scene, view_layer, start: int | None = None, end: int | None = None) -> Task:
    """Write the live flesh of `start`..`end` into one shape key a frame and let those play; gives the key names."""
    check_flesh(obj)
    found = reading.subject(obj, view_layer)
    writing.check_bakeable(obj)
    live = obj.thew.frames(scene)
    start = live[0] if start is None else start
    end = live[1] if end is None else end
    _check_range(obj, start, end)
    first = min(start, live[0]) if live[0] <= end else start
    flesh = register.flesh(obj)
    recipe, stance = session.Recipe.of(obj, scene), session.Stance.saved(obj)
    # A clip that reaches further is kept: its frames are the same, and nothing needs to be simulated again.
    last = max(end, flesh.clip_end) if flesh.covers(first, end) else end
    build = building.build(flesh, found, stance, recipe, scene, view_layer, (first, last))
    yield from span(build, 0.0, 0.8)
    frames = frame_range(start, end)
    if flesh.offsets is None:
        rest = reading.basis_positions(obj.data)
        offsets = np.stack([flesh.positions(frame) - rest for frame in frames])
    else:
        offsets = yield from span(_evaluated(obj, flesh, scene, frames), 0.8, 0.95)
    yield Progress(0.95, "Writing shape keys")
    names = writing.write_bake(obj, start, offsets)
    obj.thew.made.shows_bake = True
    obj.thew.enabled = True
    apply_state(obj)
    note(obj, flesh)
    return names


def _evaluated(obj, flesh, scene, frames: list[int]) -> Task:
    """What a frame's key must hold when other keys or modifiers act before it: the live shape less the keys' mix."""
    made = obj.thew.made
    here, part = scene.frame_current, scene.frame_subframe
    was = obj.thew.enabled, made.shows_bake, made.found, made.notes
    rows = np.empty((len(frames), len(flesh.character.rest), 3), dtype=np.float32)
    try:
        made.shows_bake = False
        obj.thew.enabled = True
        apply_state(obj)
        settle(obj, flesh, scene)
        replaced = modifier.by_id(obj, made.armature_modifier)
        before = {m.persistent_uid for m in reading.Subject(obj, replaced.object, replaced).before()}
        with poses.playing(), poses.shown([obj]):
            for passes, on in enumerate((before | {made.modifier}, set())):
                with reading.modifiers_on(obj, on, basis=False):
                    for i, frame in enumerate(frames):
                        session.show(obj, flesh, frame)
                        scene.frame_set(frame)
                        shape = reading.evaluated_positions(obj, bpy.context.evaluated_depsgraph_get())
                        if len(shape) != rows.shape[1]:
                            raise Refusal(
                                f"{describe(obj)} could not be evaluated at frame {frame}: show it and its collection"
                            )
                        rows[i] = shape if passes == 0 else rows[i] - shape
                        if i % 8 == 7:
                            yield Progress((passes + (i + 1) / len(frames)) / 2.0, f"Measuring frame {frame}")
    finally:
        with poses.playing():
            obj.thew.enabled, made.shows_bake = was[:2]
            apply_state(obj)
            made.found, made.notes = was[2:]
            session.show(obj, flesh, here + part)
            scene.frame_set(here, subframe=part)
    return rows


# removing -------------------------------------------------------------------------------------------------------------


def remove(obj, remove_baked_keys: bool = False, remove_rigs: bool = False) -> list[str]:
    """Leave the object as it was before flesh was added; gives what the artist should know.

    Rigs are the artist's work: they are kept, for when flesh is added again, unless asked otherwise.
    """
    reading.check_editable(obj)
    made = obj.thew.made
    name = describe(obj)
    if not made.flesh and not writing.baked_keys(obj) and not (remove_rigs and len(obj.thew.rigs)):
        raise Refusal(f"{name} has no flesh: nothing to remove")
    said = []
    if remove_baked_keys:
        writing.remove_baked(obj)
    kept = made.baked_keys if writing.baked_keys(obj) else ""
    if kept:
        writing.mute_baked(obj, True)
        said.append(
            f"{name} keeps its {len(kept.splitlines())} baked shape keys, muted, because its armature moves it again"
        )
    if made.flesh:
        if modifier.by_id(obj, made.armature_modifier) is None:
            said.append(f"The Armature modifier that Thew had replaced on {name} was no longer there")
        modifier.remove(obj)
    basis, action = made.baked_basis, made.baked_action
    if remove_rigs:
        rigging.clear(obj)
    elif len(obj.thew.rigs):
        said.append(f"{name} keeps its {plural(len(obj.thew.rigs), 'rig')}, for when flesh is added again")
    properties.reset(obj, keep_rigs=True)
    if kept:
        made = obj.thew.made
        made.baked_keys, made.baked_basis, made.baked_action = kept, basis, action
    register.forget(obj)
    return said
