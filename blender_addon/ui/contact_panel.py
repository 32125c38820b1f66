# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Contact: its switch, the collision partners, exclusions, and what touched in the last simulation."""

from __future__ import annotations

from ..live import contact as live_contact
from ..live import validity
from ..live.flesh import NO_COLLIDERS
from ..live.session import register as fleshes
from ..logic import contact
from ..logic.contact import MAX_NAMED_PAIRS
from ..logic.sentences import join_words, plural
from ..scene import colliders, contact_exclusions, groups
from .layouts import draw_text


def draw_switch(layout, obj) -> None:
    """Draws the switch in the foldout's header."""
    row = layout.row()
    row.active = obj.thew.method in contact.CONTACT_METHODS
    row.prop(obj.thew, "use_contact", text="")


def draw_contact(layout, context, obj, width: int) -> None:
    """Draws the contact settings, greyed out where the method has no contact. Messages stand below the settings, which never move."""
    settings = obj.thew
    can = settings.method in contact.CONTACT_METHODS
    parted = settings.method == contact.SURFACE_METHOD
    body = layout.column()
    body.enabled = can
    body.active = can and settings.use_contact
    body.prop(settings, "self_contact")
    column = body.column(align=True)
    column.prop(settings, "use_colliders")
    row = column.row()
    row.active = settings.use_colliders
    row.prop(settings, "collider_collection", text="In")
    body.prop(settings, "use_other_flesh")
    touches = settings.self_contact or settings.use_colliders or settings.use_other_flesh
    column = body.column(align=True)
    column.active = touches
    column.prop(settings, "contact_thickness")
    rubs = column.row()
    rubs.active = not parted
    rubs.prop(settings, "contact_friction")
    row = body.row()
    row.active = touches
    name, there = contact_exclusions.chosen_group(obj)
    row.alert = bool(name) and not there
    row.prop_search(settings, "contact_ignore", obj, "vertex_groups")
    body.prop(settings, "show_contacts")
    told = layout.column(align=True)
    if not can:
        draw_text(told, contact.NO_CONTACT_NOTE, width, icon="INFO")
    if parted:
        draw_text(told, contact.SURFACE_ONLY_NOTE, width, icon="INFO")
    if settings.use_contact:
        list_colliders(told, context, obj, width)
        list_others(told, context, obj, width)
    flesh = fleshes.known_state(obj)
    if flesh is not None and can and settings.use_contact:
        draw_touched(layout.column(align=True), context, obj, flesh, width)


def draw_touched(column, context, obj, flesh, width: int) -> None:
    """Draws what touched in the present clip. Later changes of the settings are not part of it."""
    notes = live_contact.touch_remarks(flesh)
    if notes and not obj.thew.made.shows_bake and validity.is_outdated(obj, context.scene, flesh):
        draw_text(column, "As of the last simulation; something was changed since:", width, icon="INFO")
    for note in notes:
        draw_text(column, note, width)


def list_colliders(column, context, obj, width: int) -> None:
    """Lists the objects with which the flesh collides."""
    if not obj.thew.use_colliders:
        return
    requests, flesh = colliders.requested_colliders(obj, context.scene), fleshes.known_state(obj)
    read = NO_COLLIDERS if flesh is None or flesh.motion is None else flesh.motion.colliders
    wrong = colliders.unread_keys(read, requests)
    names = [each.key[0] for each in requests if each.key not in wrong]
    if names:
        draw_text(column, f"With {names_text(names)}", width)
    elif not requests:
        draw_text(column, no_partner_text(obj, context.scene), width)
    for problem in read.problems:
        if any(f"“{name}”" in problem for name, _ in wrong):
            draw_text(column, problem, width, icon="ERROR")


def no_partner_text(obj, scene) -> str:
    """Returns the sentence that the flesh collides with nothing, and why."""
    where = "Nothing in the scene" if obj.thew.collider_collection is None else "Nothing in this collection"
    why = colliders.idle_reasons(obj, scene)
    if not why:
        return f"{where} has Collision physics (Physics Properties > Collision)"
    more = (
        [plural(len(why) - MAX_NAMED_PAIRS, "other takes no part", "others take no part")]
        if len(why) > MAX_NAMED_PAIRS
        else []
    )
    return f"{where} collides: {join_words([*why[:MAX_NAMED_PAIRS], *more])}"


def list_others(column, context, obj, width: int) -> None:
    """Lists the objects with which the flesh is simulated."""
    settings = obj.thew
    if not settings.use_other_flesh:
        return
    names = [other.name for other in groups.others(obj, context.scene)]
    text = f"With {names_text(names)}" if names else "Switch Contact and Other Flesh on in another character, too"
    draw_text(column, text if settings.method in contact.JOINT_METHODS else contact.NO_OTHER_FLESH_NOTE, width)


def names_text(names: list[str]) -> str:
    """Returns the first `MAX_NAMED_PAIRS` names in quotes, and the number of the others."""
    more = [plural(len(names) - MAX_NAMED_PAIRS, "other")] if len(names) > MAX_NAMED_PAIRS else []
    return join_words([*(f"“{name}”" for name in names[:MAX_NAMED_PAIRS]), *more])
