# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Contact: whether the flesh touches itself, how, what is left out of it, and what touched."""

from __future__ import annotations

from ..live import contact as live_contact
from ..live.session import register as fleshes
from ..logic import contact
from ..scene import ignored
from .layouts import draw_text


def draw_switch(layout, obj) -> None:
    """The switch in the foldout's header."""
    row = layout.row()
    row.active = obj.thew.method in contact.METHODS
    row.prop(obj.thew, "use_contact", text="")


def draw_contact(layout, _context, obj, width: int) -> None:
    """How flesh touches; grey where it does not, or cannot."""
    settings = obj.thew
    can = settings.method in contact.METHODS
    if not can:
        draw_text(layout.column(align=True), contact.UNTOUCHABLE, width, icon="INFO")
    parted = settings.method == contact.PARTED
    if parted:
        draw_text(layout.column(align=True), contact.ON_THE_SURFACE, width, icon="INFO")
    body = layout.column()
    body.enabled = can
    body.active = can and settings.use_contact
    body.prop(settings, "self_contact")
    column = body.column(align=True)
    column.active = settings.self_contact
    column.prop(settings, "contact_thickness")
    rubs = column.row()
    rubs.active = not parted
    rubs.prop(settings, "contact_friction")
    row = body.row()
    row.active = settings.self_contact
    name, there = ignored.asked(obj)
    row.alert = bool(name) and not there
    row.prop_search(settings, "contact_ignore", obj, "vertex_groups")
    body.prop(settings, "show_contacts")
    flesh = fleshes.known(obj)
    column = layout.column(align=True)
    for note in live_contact.touched(flesh) if flesh is not None and can and settings.use_contact else ():
        draw_text(column, note, width)
