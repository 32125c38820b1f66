# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of the panel: what a field takes, the simulation takes, or it names the field."""

from __future__ import annotations

import bpy
import pytest
from conftest import in_one_blender
from helpers import add_rig, flesh_of, make_character, part

#: Numbers of which an end of the range is costly, or no setting of the flesh.
TRIED_ELSEWHERE = {"cells_across", "levels", "frame_start", "frame_end"}


@pytest.fixture
def small_character(scene):
    """Builds a tiny character with flesh over three frames."""
    scene.frame_end = 3
    body, _ = make_character(rings=9, sides=8)
    assert bpy.ops.thew.add(cells_across=4) == {"FINISHED"}
    return body


def numbers(group):
    """Yields each property of one number that the artist sees."""
    for prop in group.bl_rna.properties:
        if prop.type in {"FLOAT", "INT"} and not prop.is_array and not prop.is_hidden:
            yield prop


def test_ends_of_ranges(small_character):
    """Both ends of the range of each number can be simulated, or the refusal names the field."""
    body, tried = small_character, 0
    for prop in numbers(body.thew):
        if prop.identifier in TRIED_ELSEWHERE:
            continue
        settings, name = body.thew, prop.identifier
        settings.use_young, settings.use_contact = name == "young", "contact" in name
        settings.method = "modal" if "Modal" in prop.description else "hyperelastic"
        was, is_own = getattr(settings, name), settings.is_property_set(name)
        for value in (prop.hard_min, prop.hard_max):
            setattr(settings, name, value)
            try:
                assert bpy.ops.thew.simulate() == {"FINISHED"}, name
            except RuntimeError as error:
                assert prop.name.lower() in str(error).lower(), f"{name} {value}: {error}"
            tried += 1
        setattr(settings, name, was)
        if not is_own:
            settings.property_unset(name)
    assert tried >= 40


def test_detail_ends_where_the_core_does(small_character):
    """Detail takes every number of blocks that the core takes, and no more; so do the buttons that ask for it."""
    thew, flesh = part("logic.native").core(), flesh_of(small_character)
    around = flesh.surface, flesh.skeleton, flesh.character.weights
    prop = small_character.thew.bl_rna.properties["cells_across"]
    asked = bpy.ops.thew.add.get_rna_type().properties["cells_across"]
    assert (asked.hard_min, asked.hard_max) == (prop.hard_min, prop.hard_max)
    for cells, accepted in ((prop.hard_min, True), (prop.hard_max, True), (prop.hard_max + 1, False)):
        with pytest.raises(thew.ThewError) as caught:
            thew.Lattice.enclose(*around, cells_across=cells, progress=lambda *_: False)  # ends what it begins
        assert ("must lie between" not in str(caught.value)) == accepted, caught.value
    small_character.thew.cells_across = 1000
    assert small_character.thew.cells_across == prop.hard_max


@in_one_blender
def test_sizes_of_a_rig(small_character):
    """A field's sizes that make no field are refused by the names of their sliders."""
    rig = add_rig(small_character, bone="Spine")
    identifiers = {prop.identifier for prop in numbers(rig) if "_" in prop.identifier}
    for template in [item.identifier for item in rig.bl_rna.properties["template"].enum_items]:
        rig.template = template
        for prop in numbers(rig):
            was = getattr(rig, prop.identifier)
            for value in (prop.hard_min, prop.hard_max):
                setattr(rig, prop.identifier, value)
                bpy.ops.thew.simulate()
                assert not [name for name in identifiers if name in rig.problem], rig.problem
            setattr(rig, prop.identifier, was)
