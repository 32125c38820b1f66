# SPDX-License-Identifier: GPL-3.0-or-later
"""The first press looks right: the measure of the look on every shared character and our own, at the extension's defaults.

The first frames of the liveliest clip of each; `benches/blender_look.py` takes three clips, and more of them, and draws them.
"""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np
import pytest
from conftest import FAST, data_folder, in_one_blender
from helpers import part

from demo.look import liveliest, reading, simulating

#: A second and a half of each clip.
FRAMES = 36
#: What is there as glTF too is read from FBX by `test_characters.py`.
SOURCES = [each for each in liveliest.sources(data_folder("characters")) if not each.endswith(".fbx")]
if FAST:
    SOURCES = SOURCES[::9]

#: Bounds that characters are known to miss, by title: what is open about the look. `docs/look.md` says why and by how much; a bound
#: that is missed by another character, and every other one of these, fails.
SHORTFALLS = {
    # Its trunk swings near the pace of its walk, where exact flesh snaps as well.
    "kaykit_manny": {"snap"},
    # Its belly hardly moves: 0.7 m/s².
    "m2m_dragon": {"soft parts still", "soft as hard"},
    # Exact flesh turns over 0.4 % of the one's skin and 4 % of the other's, at six and at thirteen g; a frog's thickest part is its skull.
    # The spider's abdomen goes a little more than 0.75 of its thickness; exact flesh sways as far.
    "m2m_spider": {"flipped", "buried"},
    "q_frog": {"flipped", "stiffest where thick", "still"},
    # Its belt, which rides: small pieces of it stretch with the skin below. The flap of its trousers, a piece of the mesh that hangs on
    # the spine beside the thigh, is taken for thick flesh.
    "sintel_m2m": {"torn", "flipped", "pieces slip"},
}


@pytest.mark.parametrize("source", SOURCES, ids=liveliest.title)
def test_defaults_look_right(addon, source):
    """The flesh of each character at default settings shows none of the measured faults but the known ones."""
    meshes = liveliest.open_source(source)
    clips = liveliest.liveliest(meshes, 1, FRAMES)
    recordings = reading.record(liveliest.title(source), meshes, clips, FRAMES)
    complaints, known = [], SHORTFALLS.get(liveliest.title(source), set())
    for recording, clip, shown, _ in reading.add_flesh(meshes, clips, recordings, FRAMES):
        assert np.isfinite(shown).all()
        look = recording.look(clip, shown)
        # A stop is tried on the largest mesh; what rides has no swing of its own.
        if recording is recordings[0] and recording.body is None:
            flesh = part("live.session").register.state_of(bpy.data.objects[recording.mesh])
            look = replace(look, calm=simulating.Character(recording, body=flesh.body).calm)
        complaints += [
            f"{recording.mesh}, {clip.name}: {fault} ({look})" for fault in look.faults() if fault not in known
        ]
    assert complaints == []


def test_simulating_uses_defaults(character, scene):
    """The bench without Blender uses the default settings of the extension."""
    build_settings = part("live.build_settings").BuildSettings.from_object(bpy.context.object, scene, 1.7)
    # The dial is in force, not pascals.
    material = {name: value for name, value in simulating.MATERIAL.items() if name != "young"}
    here = {"cells_across": simulating.CELLS_ACROSS, **material, **simulating.BODY, **simulating.MOTION}
    for name, value in here.items():
        owner = build_settings if hasattr(build_settings, name) else build_settings.simulation
        assert getattr(owner, name) == pytest.approx(value, rel=1e-6), name


@in_one_blender
def test_recording_matches_extension(addon):
    """The clip that the extension makes is the clip that a recording makes, and the skin is the plain one."""
    meshes = liveliest.open_source("biped")
    clips = liveliest.liveliest(meshes, 1)
    (recording,) = reading.record("biped", meshes, clips, 8)
    ((_, clip, shown, _),) = reading.add_flesh(meshes, clips, [recording], 8)
    again = simulating.Character(recording).shown(clip)
    size = np.linalg.norm(np.ptp(recording.rest, axis=0))
    assert np.abs(again - shown).max() < 1e-5 * size
    flesh = part("live.session").register.state_of(meshes[0])
    assert np.abs(np.asarray(flesh.surface.vertices) - recording.rest).max() < 1e-9 * size
