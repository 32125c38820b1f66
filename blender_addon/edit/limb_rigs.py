# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies rigs from one character to another.

On limbs that both have, places are transferred by figural coordinates, directions by the limb's own axes, sizes by its thickness, and
strengths so that flesh yields in proportion. Other rigs go by the bones (`retargeting`). Everything is computed before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np

from ..live import jobs
from ..logic.bone_names import are_on_opposite_sides
from ..logic.errors import Refusal, sentence
from ..logic.limb_places import LimbMap
from ..logic.names import describe
from ..logic.native import core
from ..logic.picking import Picker
from ..logic.sentences import plural
from ..rigs import pushers, rigging
from ..rigs.anchors import anchor_sculpt
from ..rigs.rigging import Attachment
from ..saved.limbs import ThewLimb
from ..saved.rigs import ThewRig, copy_rig
from ..saved.samples import quiet_edits
from ..saved.slider_groups import set_values, values_of
from . import limb_drivers, limbs
from .limb_guides import GUIDE_TRANSFERS, MIN_LIMB_SHARE, LimbOwner, LimbPair
from .posed_character import region_weights
from .rig_copies import CopyReport, RigCopy, SculptCopy
from .rig_fit import fit, fit_text
from .rig_list import drop_rig, new_rig


def carry(context, source: bpy.types.Object, target: bpy.types.Object, link_of: Callable | None = None) -> CopyReport:
    """Copies every rig on a limb of `source` to the same place on the corresponding limb of `target`.

    `link_of(here, there)`: returns the `CharacterLink` by which all other rigs are copied. None: they are left out.
    """
    if source == target:
        raise Refusal(f"{describe(source)} cannot carry rigs to itself: select another mesh to carry from")
    if not len(source.thew.rigs):
        raise Refusal(f"{describe(source)} has no rigs: add one first")
    matched = limbs.limb_pairs(source, target) if link_of is None else limbs.common_limbs(source, target)
    here, there = (LimbOwner(obj, jobs.with_body(obj, context.scene, context.view_layer)) for obj in (source, target))
    report, link = CopyReport(), None if link_of is None else link_of(here, there)
    planned, pairs = plan_rigs(here, there, matched, link, report)
    if not planned:
        raise Refusal(
            f"None of the rigs of {describe(source)} can be carried to {describe(target)}: {'; '.join(report.omissions)}"
        )
    bones = link.bones() if report.bones else {}
    for ours, theirs in matched:
        one, other = here.chain(ours), there.chain(theirs)
        if len(one) == len(other):
            mapping = pairs[ours.name].limb_map if ours.name in pairs else limb_map(here, there, ours, theirs)
            bones |= {bone: (partner, mapping) for bone, partner in zip(one, other, strict=True)}
    before = len(target.thew.rigs), target.thew.active_rig
    try:
        for carried in planned:
            write(there, carried)
            report.names.append(target.thew.rigs[-1].name)
            note_fit(here, there, carried, link, report)
            if carried.double:
                report.omissions.append(
                    f"“{carried.rig.name}” was there already and is kept beside “{report.names[-1]}”"
                )
            warning = limb_drivers.carry(here, there, carried.rig, target.thew.rigs[-1], bones)
            report.warnings += [warning] if warning else []
    except Exception:
        while len(target.thew.rigs) > before[0]:
            drop_rig(target, len(target.thew.rigs) - 1)
        target.thew.active_rig = before[1]
        raise
    report.limbs = [pair.there.name for pair in pairs.values()]
    pushers.store_problems(target, there.flesh)
    new = list(target.thew.rigs)[before[0] :]
    report.warnings += [text for rig in new for text in (rig.problem or rig.note,) if text]
    return report


def note_fit(here: LimbOwner, there: LimbOwner, carried: RigCopy | SculptCopy, link, report: CopyReport) -> None:
    """Keeps how well the rig that was written last fits, and reports it."""
    map_of_skins = link.native if isinstance(carried, SculptCopy) else None
    share, rig = fit(here, there, carried, map_of_skins), there.obj.thew.rigs[-1]
    rig.fit = -1.0 if share is None else share
    if share is not None:
        report.fits.append(f"“{rig.name}” {fit_text(share)}")


def plan_rigs(
    here: LimbOwner, there: LimbOwner, matched, link, report: CopyReport
) -> tuple[list[RigCopy | SculptCopy], dict[str, LimbPair]]:
    """Returns every rig of one side as it will be on the other, and the pairs of limbs by name that they need; reports those left out."""
    planned, pairs = [], {}
    for rig in here.obj.thew.rigs:
        try:
            attachment = checked_attachment(here, rig)
        except Refusal as error:
            reason = sentence(str(error)).rstrip(".")
            report.omissions.append(f"“{rig.name}” is left out, as it does not push: {reason}")
            continue
        limb, partner = None, None
        if rig.kind == "FORCE":  # sculpted rigs hang on no limb, and muscles may hang on two
            limb = limb_of(here, attachment, [ours for ours, _ in matched])
            partner = next((theirs for ours, theirs in matched if ours == limb), None)
        if partner is not None:
            if limb.name not in pairs:
                pairs[limb.name] = limb_pair(here, there, limb, partner)
            planned.append(plan(here, there, pairs[limb.name], rig, attachment))
        elif link is not None:
            report.bones = link.message()
            try:
                planned.append(link.plan(rig, attachment))
                report.errors.append(f"{link.error_text(rig)} apart at “{rig.name}”")
            except core().CorrespondenceError as error:
                report.omissions.append(f"“{rig.name}” is left out: {sentence(str(error)).rstrip('.')}")
        else:
            on = "no limb" if limb is None else f"“{limb.name}”, which {describe(there.obj)} does not have,"
            report.omissions.append(f"“{rig.name}” hangs on {on} and is left out")
    return planned, pairs


def limb_pair(here: LimbOwner, there: LimbOwner, ours: ThewLimb, theirs: ThewLimb) -> LimbPair:
    """Returns the pair of two limbs. Raises a `Refusal` if their chains do not correspond."""
    one, other = here.chain(ours), there.chain(theirs)
    if len(one) != len(other):
        raise Refusal(
            f"The limb “{ours.name}” of {describe(here.obj)} runs along {plural(len(one), 'bone')} and “{theirs.name}” of "
            f"{describe(there.obj)} along {len(other)}: make both along the same number of bones"
        )
    triangles = there.skin(theirs)
    if not len(triangles):
        raise Refusal(f"No skin of {describe(there.obj)} follows its limb “{theirs.name}”: make the limb again")
    corners = there.flesh.character.triangles[triangles]
    return LimbPair(
        ours, theirs, limb_map(here, there, ours, theirs),
        (triangles, Picker(np.asarray(there.flesh.surface.vertices), corners)), dict(zip(one, other, strict=True)),
    )  # fmt: skip


def limb_map(here: LimbOwner, there: LimbOwner, ours: ThewLimb, theirs: ThewLimb) -> LimbMap:
    """Returns the map from one limb to the other."""
    mirrored = are_on_opposite_sides(here.chain(ours), there.chain(theirs))
    return LimbMap(here.limb(ours), there.limb(theirs), mirrored)


# attachments ------------------------------------------------------------------------------------------------------------


def checked_attachment(side: LimbOwner, rig: ThewRig) -> Attachment:
    """Returns the attachment of a rig. Raises a `Refusal` if that is gone or its numbers are invalid."""
    found = rigging.resolve_rig(side.obj, side.flesh.character, side.flesh.bind_pose, side.flesh.place, rig)
    if found.problem:
        raise Refusal(found.problem)
    return found.attachment


def limb_of(side: LimbOwner, attachment: Attachment, first: list[ThewLimb]) -> ThewLimb | None:
    """Returns the limb to which a rig is attached, preferably one of `first`. `None` if there is no such limb."""
    every = sorted(side.obj.thew.limbs, key=lambda limb: limb not in first)
    character = side.flesh.character
    if attachment.guide == "BONE":
        return next((limb for limb in every if character.bones[attachment.bone] in side.chain(limb)), None)
    if attachment.guide == "SKIN":
        corners = character.triangles[attachment.triangle]
        weights = side.shares(attachment.barycentric) @ character.weights[corners]
    else:
        point = np.array(attachment.matrix).reshape(4, 4)[:3, 3]
        weights = region_weights(side.flesh, point)
        if (
            abs(float(side.flesh.surface.winding_number(point[None])[0])) < 0.5
        ):  # outside the flesh: only limbs whose coordinates reach there
            every = [limb for limb in every if np.isfinite(side.limb(limb).coordinates(point)).all()]
    following = [limb for limb in every if side.share(weights, limb) >= MIN_LIMB_SHARE]
    return max(following, key=lambda limb: (limb in first, side.share(weights, limb)), default=None)


def is_already_copied(there: LimbOwner, rig: ThewRig, limb: ThewLimb) -> bool:
    """Returns whether a rig of the same name and kind is attached to a limb of the other character: an earlier copy."""
    for other in there.obj.thew.rigs:
        if (other.name, other.template, other.guide) != (rig.name, rig.template, rig.guide):
            continue
        try:
            if limb_of(there, checked_attachment(there, other), [limb]) == limb:
                return True
        except Refusal:  # a rig without an attachment
            continue
    return False


# planned copies ---------------------------------------------------------------------------------------------------------


def plan(here: LimbOwner, there: LimbOwner, pair: LimbPair, rig: ThewRig, attachment: Attachment) -> RigCopy:
    """Returns a rig of one side as it will be on the other."""
    guide = GUIDE_TRANSFERS[attachment.guide](here, there, pair, rig, attachment)
    rows = [values_of(rig), *(values_of(sample.sliders) for sample in rig.samples)]
    carried = [guide.transferred_row(row) for row in rows]
    preferred = guide.transferred_row(values_of(rig.pull.preferred), values_of(rig))
    return RigCopy(rig, guide.attachment, carried[0], carried[1:], preferred, is_already_copied(there, rig, pair.there))


# writing ------------------------------------------------------------------------------------------------------------------


def write(there: LimbOwner, carried: RigCopy | SculptCopy) -> None:
    """Adds a transferred rig to the end of the list."""
    obj = there.obj
    rig = new_rig(obj, carried.rig.name)
    copy_rig(carried.rig, rig)
    with quiet_edits():
        rig.solo, rig.bone, rig.bone_token, rig.face, rig.face_token = False, "", "", -1, 0
        rig.insertion = rig.insertion_token = ""
        rig.problem = rig.note = ""
        if isinstance(carried, SculptCopy):
            rig.sculpt = carried.sculpt
            anchor_sculpt(obj, rig)
            return
        rigging.attach(obj, there.flesh, rig, carried.attachment)
        set_values(rig, carried.row)
        set_values(rig.pull.preferred, carried.preferred)
        for sample, row in zip(rig.samples, carried.samples, strict=True):
            set_values(sample.sliders, row)
