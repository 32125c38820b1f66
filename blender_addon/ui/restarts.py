# SPDX-License-Identifier: GPL-3.0-or-later
"""The frames in which flesh begins anew: the buttons that add one, cuts that were noticed, and their marks in the timeline."""

from __future__ import annotations

import bpy

from ..languages.translations import translate
from ..live import target
from ..live.session import register as fleshes
from ..logic.cuts import Cut
from ..logic.sentences import frames_text
from ..saved import restarts
from ..scene import groups, restart_keys
from ..scene.reading import armature_of
from .layouts import draw_text, wrap

#: Largest number of noticed cuts that are listed. A blocked animation jumps in every pose.
MAX_ROWS = 8
#: Letters that the buttons beside a row take.
BUTTONS_WIDTH = 8
#: Colours of the marks in the timeline: restarts, and cuts that wait for a decision.
RESTART_COLOUR, CUT_COLOUR = (0.25, 0.75, 0.35, 0.9), (0.95, 0.6, 0.1, 0.9)
#: Half the width and the height of a mark, pixels at a UI scale of 1.
MARK_WIDTH, MARK_HEIGHT = 5.0, 9.0


def draw_restarts(layout, obj, scene, width: int) -> None:
    """Draws the buttons, the switches, and below them a row for each restart and for each cut that was noticed."""
    settings, flesh, armature = obj.thew, fleshes.known_state(obj), armature_of(obj)
    first, last = settings.frames(scene)
    column = layout.column(align=True)
    column.operator("thew.restart_here", icon="PLAY")
    column.prop(settings, "restart_at_cuts")
    if armature is not None:
        row = column.row()
        row.use_property_decorate = True
        row.prop(armature.thew, "restart", text="Restart by Keys")
    for frame in sorted(restarts.frames(settings)):
        where = "" if first <= frame <= last else f", outside frames {first} to {last}"
        draw_known(column, f"Begins anew in frame {frame}{where}", frame, width)
    keyed = restart_keys.keyed_frames(obj, armature)
    if keyed:
        draw_text(column, f"Begins anew by keys in {frames_text(sorted(keyed))}", width, icon="KEYFRAME_HLT")
    if settings.restart_at_cuts and flesh is not None:
        passed = restarts.passed_frames(settings)
        taken = [cut for cut in flesh.noticed if not cut.is_pop and cut.frame not in passed]
        for cut in taken[:MAX_ROWS]:
            draw_cut(column, cut, width, decided=True)
    for frame in sorted(restarts.passed_frames(settings)):
        draw_known(column, f"Goes on through frame {frame}", frame, width)
    draw_open(column, () if flesh is None else flesh.open_cuts, width)


def draw_row(column, text: str, width: int, icon: str = "NONE"):
    """Draws a text over as many lines as it needs, and returns the first one for its buttons."""
    first, *rest = wrap(translate(text), width - BUTTONS_WIDTH)
    row = column.row(align=True)
    row.label(text=first, translate=False, icon=icon)
    for line in rest:
        column.label(text=line, translate=False, icon="NONE" if icon == "NONE" else "BLANK1")
    return row


def draw_known(column, text: str, frame: int, width: int) -> None:
    """Draws the row of a frame that the artist has judged, with a button that forgets it."""
    row = draw_row(column, text, width)
    row.operator("thew.restart_remove", text="", icon="X").frame = frame


def draw_cut(column, cut: Cut, width: int, decided: bool = False) -> None:
    """Draws the row of a cut that was noticed: accepted by one press, or passed over; `decided`: it is a restart already."""
    row = draw_row(column, cut.row_text, width, icon="PLAY" if decided else "ERROR")
    if not decided:
        row.operator("thew.restart_here", text="", icon="CHECKMARK").frame = cut.frame
    row.operator("thew.restart_pass", text="", icon="X").frame = cut.frame


def draw_open(column, cuts, width: int) -> None:
    """Draws the cuts that nobody has judged yet, and a button that accepts all of them."""
    for cut in cuts[:MAX_ROWS]:
        draw_cut(column, cut, width)
    if len(cuts) > MAX_ROWS:
        column.label(text=translate(f"and {len(cuts) - MAX_ROWS} more"), icon="BLANK1")
    if len(cuts) > 1:
        column.operator("thew.restart_at_cuts", text=translate(f"Restart at All {len(cuts)} Cuts"), icon="CHECKMARK")


# marks in the timeline ----------------------------------------------------------------------------------------------


def marks(obj: bpy.types.Object, scene: bpy.types.Scene) -> list[tuple[int, tuple]]:
    """Returns the marks of a character in the timeline: (frame, colour) of each restart and of each cut that nobody has judged."""
    flesh = fleshes.known_state(obj)
    cuts = () if flesh is None else flesh.open_cuts
    begun = set(groups.restarts(obj, scene))
    if flesh is not None and obj.thew.restart_at_cuts:
        begun |= {cut.frame for cut in flesh.noticed if not cut.is_pop} - restarts.passed_frames(obj.thew)
    return [(frame, RESTART_COLOUR) for frame in sorted(begun)] + [(cut.frame, CUT_COLOUR) for cut in cuts]


def triangles(columns: list[float], top: float, scale: float) -> list[tuple[float, float]]:
    """Returns the corners of a triangle that hangs from the height `top` at each of `columns`, pixels."""
    half, height = MARK_WIDTH * scale, MARK_HEIGHT * scale
    return [corner for x in columns for corner in ((x - half, top), (x + half, top), (x, top - height))]


def draw_marks() -> None:
    """Draws the marks of the shown character into a timeline or dope sheet."""
    import gpu
    from gpu_extras.batch import batch_for_shader

    context = bpy.context
    obj, region = target.target_mesh(context), context.region
    if obj is None or obj.type != "MESH" or not obj.thew.made.flesh or region is None:
        return
    scale, shader = context.preferences.system.ui_scale, gpu.shader.from_builtin("UNIFORM_COLOR")
    shader.bind()
    found = marks(obj, context.scene)
    gpu.state.blend_set("ALPHA")
    for colour in (RESTART_COLOUR, CUT_COLOUR):
        frames = [frame for frame, its in found if its == colour]
        columns = [region.view2d.view_to_region(frame, 0.0, clip=False)[0] for frame in frames]
        if columns:
            shader.uniform_float("color", colour)
            flat = [(x, y, 0.0) for x, y in triangles(columns, region.height, scale)]
            batch_for_shader(shader, "TRIS", {"pos": flat}).draw(shader)
    gpu.state.blend_set("NONE")


class TimelineMarks:
    """The marks in timelines and dope sheets, for as long as the extension is registered."""

    def __init__(self) -> None:
        self.handle = None

    def register(self) -> None:
        if not bpy.app.background:
            self.handle = bpy.types.SpaceDopeSheetEditor.draw_handler_add(draw_marks, (), "WINDOW", "POST_PIXEL")

    def unregister(self) -> None:
        if self.handle is not None:
            bpy.types.SpaceDopeSheetEditor.draw_handler_remove(self.handle, "WINDOW")
            self.handle = None


OVERLAYS = (TimelineMarks(),)
