# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of a clip and the sentences about them, in numbers: needs no scene."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import part


@pytest.fixture(scope="module", autouse=True)
def load_modules(addon):
    """Loads the extension's modules."""


BONES = ["Belly", "Thigh", "Arm"]
#: Vertices 0 and 1 are the belly's, 2 the thigh's, 3 the arm's, 4 nobody's.
WEIGHTS = np.array([[1.0, 0, 0], [0.6, 0.4, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, 0]])


class Touches:
    """Holds contacts of one frame: (vertex, partner, gap, force) each; a fifth number is that of the thing that is
    touched."""

    def __init__(self, *each):
        self.vertices, self.other_vertices = (np.array([one[i] for one in each], dtype=np.int32) for i in (0, 1))
        self.other_bodies = np.array([one[4] if len(one) > 4 else 0 for one in each], dtype=np.int32)
        self.gaps = np.array([one[2] for one in each], dtype=np.float64)
        self.forces = np.array([[0.0, 0.0, one[3]] for one in each]).reshape(-1, 3)

    def __len__(self):
        return len(self.gaps)


class Clip:
    """Holds frames of contacts, the number of held cells in each, the bodies' names, the buried bones, and how far
    folds are parted."""

    def __init__(self, frames, held=None, names=("",), buried=None, folds=None):
        self.body_names = list(names)
        self.buried, self.parted = buried or [[]] * len(frames), folds or [0.0] * len(frames)
        self.frames, self.held_cells = frames, np.array(held or [0] * len(frames), dtype=np.int32)

    def contacts(self, index):
        return self.frames[index]

    def buried_bones(self, index):
        return self.buried[index]

    def folds(self, index):
        return np.array([0.0, self.parted[index]], dtype=np.float32)

    def __len__(self):
        return len(self.frames)


def touching_of(clip, first=10, thickness=0.0, itself=True, things=(), **more):
    frames = range(first, first + len(clip.frames))
    things = [part("logic.contact").Thing(*each) for each in things]
    return part("logic.contact").ClipContacts.from_clip(
        clip, frames, BONES, WEIGHTS, 2.0, thickness, itself, things, **more
    )


def notes_text(touching) -> str:
    return " ".join(part("logic.contact").contact_notes(touching, lambda metres: f"{1e3 * metres:.0f} mm"))


def test_notes_parts_frames_overlap():
    """The sentence names the parts, their frames, and the points that still overlap."""
    nothing, light = Touches(), Touches((2, 0, 0.0, 1.0))
    deep = Touches((2, 0, -0.004, 1.0), (2, 1, -0.009, 2.0), (3, 0, -0.0001, 9.0))
    text = notes_text(touching_of(Clip([nothing, light, deep, light, nothing])))
    assert text == (
        "The skin touches itself in frames 11 to 13. “Belly” touches “Arm” in frame 12. There “Belly” touches “Thigh”. "
        "2 points still overlap, by up to 9 mm in frame 12."
    )


def test_notes_gap_within_thickness():
    """A gap within the thickness is not an overlap."""
    clip = Clip([Touches((2, 0, -0.01, 1.0))])
    assert "overlap" in notes_text(touching_of(clip)) and "overlap" not in notes_text(touching_of(clip, thickness=0.01))
    assert "1 point still overlaps, by 5 mm" in notes_text(touching_of(clip, thickness=0.005))


def test_notes_boneless_vertex():
    """Skin that no bone carries is not named as a part."""
    text = notes_text(touching_of(Clip([Touches((4, 0, 0.0, 1.0))])))
    assert text == "The skin touches itself in frame 10."


def test_notes_part_touches_itself():
    """The sentence says when a part touches itself."""
    assert "“Belly” touches itself." in notes_text(touching_of(Clip([Touches((0, 1, 0.0, 1.0))])))


def test_notes_group_partners():
    """The partners of one part are named together."""
    text = notes_text(touching_of(Clip([Touches((0, 2, 0.0, 5.0), (0, 3, 0.0, 4.0), (1, 0, 0.0, 3.0))])))
    assert text.endswith(". There “Belly” touches “Thigh”, “Arm” and itself.")
    text = notes_text(touching_of(Clip([Touches((2, 3, 0.0, 5.0), (0, 3, 0.0, 4.0))])))
    assert text.endswith("There “Thigh” touches “Arm”. There “Belly” touches “Arm”.")


def test_notes_count_pairs():
    """Pairs beyond the first ones are counted."""
    corners = [(0, 2), (0, 3), (2, 3), (0, 1), (2, 2)]
    text = notes_text(touching_of(Clip([Touches(*((a, b, 0.0, 9.0 - i) for i, (a, b) in enumerate(corners)))])))
    assert text.endswith(". There “Belly” touches “Thigh” and “Arm”. There “Thigh” touches “Arm”. 2 other pairs touch.")


def test_touching_needs_force():
    """Skins that are near without a force, with air between, do not touch: the core keeps such contacts for a while."""
    near, overlapping = (2, 0, 0.003, 0.0), (3, 0, -0.0001, 0.0)
    assert notes_text(touching_of(Clip([Touches(near), Touches(near)]))) == "Nothing touches."
    text = notes_text(touching_of(Clip([Touches(near), Touches(near, overlapping)])))
    assert text == "The skin touches itself in frame 11. There “Belly” touches “Arm”."


def test_notes_nothing_touches():
    """The sentence says that nothing touches, and is empty where nothing could touch."""
    assert notes_text(touching_of(Clip([Touches()] * 3))) == "Nothing touches."
    assert notes_text(touching_of(Clip([Touches()] * 3), itself=False)) == ""
    assert notes_text(None) == ""


def test_notes_bones_through_bones():
    """The sentence names the frames in which bones pass through each other."""
    text = notes_text(touching_of(Clip([Touches()] * 6, held=[0, 2, 1, 0, 0, 0]), first=19))
    assert text.startswith("Nothing touches. In frames 20 to 21 bones pass through each other")


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ((5,), "frame 5"),
        ((5, 6, 7), "frames 5 to 7"),
        ((5, 7, 8), "frames 5 to 8"),  # a frame between is about to touch again
        ((-3, -2, 9), "frames -3 to -2 and 9"),
        ((1, 2, 9, 20, 21), "frames 1 to 2, 9 and 20 to 21"),
        ((1, 9, 20, 30), "4 of the frames 1 to 30"),
    ],
)
def test_spans(frames, text):
    """Frames are written as spans, and counted when there are many."""
    assert part("logic.sentences").spans(frames) == text


def test_touching_repeats_cycle():
    """A cycle that repeats reports the frames of each of its turns."""
    turn = Clip(
        [Touches(), Touches((2, 0, 0.0, 1.0)), Touches()],
        held=[0, 0, 1],
        buried=[[(2, 0, 0, 0.01)], [], []],
        folds=[0.0, 0.0, 0.5],
    )
    begun = SimpleNamespace(simulated_frame=lambda index: index % 3)
    played = part("logic.mapped_clips").CycleClip(turn, begun)
    touching = part("logic.contact").ClipContacts.from_clip(played, range(1, 8), BONES, WEIGHTS, 2.0, 0.0)
    assert touching.itself.frames == (2, 5) and touching.held_frames == touching.folded == (3, 6)
    assert touching.buried[0].frames == (1, 4, 7)


# bones and folds -------------------------------------------------------------------------------------------------------


def test_notes_buried_bones():
    """Bones in things are named deepest first, also by the second of three bodies, whose own number names its own flesh."""
    things = [("“Anna”",), ("“Carl”",), ("“Bench”",)]
    buried = [[(1, 3, 0, 0.03), (0, 3, 0, 0.05)], [(0, 3, 0, 0.02)], [(2, 1, 0, 0.01), (2, 0, 1, 0.001)]]
    text = notes_text(touching_of(Clip([Touches()] * 3, buried=buried), things=things, body=1))
    assert text == (
        "“Belly” and “Thigh” lie up to 50 mm deep in “Bench” in frames 10 to 11, "
        "“Arm” lies up to 10 mm deep in the flesh of “Belly” in frame 12, "
        "“Arm” lies up to 1 mm deep in “Anna” in frame 12: contact moves flesh, not bones; keep them further apart."
    )


def test_notes_mutual_bones():
    """Two bones that lie in each other are named once."""
    buried = [[(0, 0, 2, 0.02), (2, 0, 0, 0.01)]]
    text = notes_text(touching_of(Clip([Touches((2, 0, 0.0, 1.0))], buried=buried)))
    assert text.count("deep in") == 1 and "“Belly” lies up to 20 mm deep in the flesh of “Arm” in frame 10" in text
    assert text.startswith("The skin touches itself in frame 10")


def test_notes_count_buried_bones():
    """Bones and places beyond the first ones are counted."""
    touching = touching_of(Clip([Touches()]), things=[(f"“{k}”",) for k in range(5)])
    buried = part("logic.buried_bones").BuriedBones
    five = tuple(buried(k, -1, (0, 1, 2, 3, 4)[: 5 - k], (10,), 0.01) for k in range(5))
    text = notes_text(replace(touching, bones=tuple("ABCDE"), buried=five))
    assert text.startswith("“A”, “B”, “C” and 2 other bones lie") and "“A”, “B”, “C” and 1 other bone lie" in text
    assert "“A”, “B” and “C” lie" in text and text.count("deep in") == 3 and "bones lie in 2 other places: " in text


def test_notes_bones_and_held_cells():
    """Buried bones are named in addition to frames with held cells."""
    text = notes_text(touching_of(Clip([Touches()], held=[1], buried=[[(0, 0, 2, 0.02)]])))
    assert "In frame 10 bones pass through each other" in text and "“Belly” lies" in text


def test_notes_parted_folds():
    """Parted folds are named with their frames."""
    folds = [0.0, 0.04, 0.06, 1.0, 0.3]
    assert notes_text(touching_of(Clip([Touches()] * 5, folds=folds))) == (
        "Folds of the skin are parted in frames 12 to 14. Nothing else touches."
    )
    text = notes_text(touching_of(Clip([Touches((2, 0, 0.0, 1.0))] * 5, folds=folds)))
    assert text.endswith("Folds of the skin are parted in frames 12 to 14.") and "touches itself" in text


def test_notes_suggest_elastic_joints():
    """Elastic Joints are suggested where the body overlaps itself and they are below 1."""
    deep = Clip([Touches((2, 0, -0.009, 1.0))])
    assert "by 9 mm in frame 10. Elastic Joints at 1 parts more." in notes_text(touching_of(deep, may_stiffen=True))
    assert "Elastic" not in notes_text(touching_of(deep))
    assert "Elastic" not in notes_text(touching_of(Clip([Touches((2, 0, 0.0, 1.0))]), may_stiffen=True))
    bench = Clip([Touches((2, 0, -0.009, 1.0, 1))])
    assert "Elastic" not in notes_text(touching_of(bench, things=[("“Bench”",)], may_stiffen=True))


# things ----------------------------------------------------------------------------------------------------------------

THINGS = [("“Bench”", 0.01), ("“Ball”",)]


def test_notes_things():
    """Things are named with their frames and the points that still overlap."""
    clip = Clip([Touches((0, 7, 0.0, 5.0, 1)), Touches((0, 90, -0.018, 5.0, 1), (3, 4, 0.0, 1.0, 2))])
    text = notes_text(touching_of(clip, things=THINGS))
    assert text == (
        "“Belly” touches “Bench” in frames 10 to 11. “Arm” touches “Ball” in frame 11. 1 point still overlaps, by 8 mm in "
        "frame 11."
    )


def test_notes_group_parts():
    """The parts that touch one thing are named together."""
    touch = Touches((0, 7, 0.0, 5.0, 1), (2, 8, 0.0, 4.0, 1), (4, 8, 0.0, 3.0, 1))
    text = notes_text(touching_of(Clip([touch]), things=THINGS))
    assert text == "“Bench” touches “Belly”, “Thigh” and skin that no bone carries in frame 10."


def test_notes_things_and_self():
    """Touches of things and of the body itself are separate sentences."""
    clip = Clip([Touches((2, 0, 0.0, 1.0)), Touches((2, 0, 0.0, 1.0, 2))])
    assert notes_text(touching_of(clip, things=THINGS)) == (
        "The skin touches itself in frame 10. There “Belly” touches “Thigh”. “Thigh” touches “Ball” in frame 11."
    )
    assert notes_text(touching_of(clip, itself=False, things=THINGS)) == "“Thigh” touches “Ball” in frame 11."


def test_notes_no_thing_touched():
    """The sentence says that nothing touches when no thing is touched."""
    nothing = Clip([Touches(), Touches((2, 0, 0.02, 0.0, 1))])
    assert notes_text(touching_of(nothing, itself=False, things=THINGS)) == "Nothing touches."
    assert notes_text(touching_of(Clip([Touches()]), itself=False)) == ""


@pytest.mark.parametrize("body", [0, 1, 2])
def test_touching_body_among_others(body):
    """One of several bodies tells itself from the others, though its clip counts all of them."""
    names = [name for k, name in enumerate(("“Anna”", "“Bert”", "“Cleo”")) if k != body]
    things = [
        part("logic.contact").Thing(name, gap) for name, gap in zip((*names, "“Bench”"), (0.01, 0.0, 0.02), strict=True)
    ]
    others = [k for k in range(4) if k != body]
    frames = [Touches((2, 0, -0.05, 1.0, body))] + [Touches((0, 7, -0.05, 1.0, other)) for other in others]
    touching = part("logic.contact").ClipContacts.from_clip(
        Clip(frames), range(10, 14), BONES, WEIGHTS, 2.0, 0.0, True, things, body=body
    )
    text = notes_text(touching)
    assert "The skin touches itself in frame 10. There “Belly” touches “Thigh”" in text
    for frame, name in zip((11, 12, 13), (*names, "“Bench”"), strict=True):
        assert f"“Belly” touches {name} in frame {frame}" in text
    # Of the gap to each that is kept only what is less is an overlap.
    assert touching.others.deepest == pytest.approx(0.05 - 0.0) and touching.others.worst == 12


def test_notes_things_same_name():
    """Things of one name are named once."""
    things = [("other things",)] * 3
    touch = Touches((0, 7, 0.0, 5.0, 1), (1, 8, 0.0, 4.0, 2), (2, 8, 0.0, 3.0, 3))
    assert (
        notes_text(touching_of(Clip([touch]), things=things)) == "Other things touch “Belly” and “Thigh” in frame 10."
    )


@pytest.mark.parametrize(
    ("body", "touched", "name"), [(0, 3, "other things"), (2, 1, "“Bert”"), (1, 0, "“Anna”"), (2, 3, "other things")]
)
def test_note_things_of_shared_clip(body, touched, name):
    """A clip that was simulated with other bodies names those that are flesh, and calls the rest other things."""
    alone = part("live.shots").ShotNote(
        "Anna", 1, 2, 8, "", 1.0, [0.0, 0.0, 0.0, 1.0], [], [0, 0, 0, 0], [], [], [["“Bench”", 0.01, []]]
    )
    assert [each.name for each in alone.things(Clip([Touches((2, 0, 0.0, 1.0, 1))]), 0)] == ["“Bench”"]
    frames = [Touches((2, 0, 0.0, 1.0, body)), Touches((2, 0, 0.0, 1.0, touched))]
    clip = Clip(frames, names=("Anna", "Bert", "Carl"))
    things = replace(alone, others=["Bert", "Carl"]).things(clip, body)
    touching = part("logic.contact").ClipContacts.from_clip(
        clip, range(1, 3), BONES, WEIGHTS, 2.0, 0.0, True, things, body=body
    )
    assert f"touches {name} in frame 2" in notes_text(touching)
    # More things than it was exported with have no names.
    assert {each.name for each in replace(alone, colliders=[]).things(Clip(frames), 0)} <= {"other things"}


def test_levels_rise():
    """The level of a contact's colour rises with its force."""
    levels = part("logic.contact").force_levels
    found = levels(np.array([0.0, 0.1, 1.0, 4.0, 10.0, 20.0]), 10.0, 5)
    assert found[0] == 0 and found[-2] == found[-1] == 4 and (np.diff(found) >= 0).all()
    assert not levels(np.zeros(3), 0.0, 5).any()


CUBE = np.array([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)], dtype=np.float64)


@pytest.mark.parametrize("corners", [(0, 1, 2, 4), (0, 1, 2, 4, 5, 6), tuple(range(8))])
def test_flattest_cells(corners):
    """The flattest held cells are found for every kind of cell, turned or not, and only with a held corner."""
    cells_of = part("logic.cells")
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    rest = np.concatenate([CUBE, CUBE + 5.0, CUBE + 9.0])
    posed = rest @ turn.T
    posed[8 + corners[-1]] = posed[8 + corners[1]]  # the second cell is flat
    cells = [[8 * k + corner for corner in corners] for k in range(3)]
    held = set(range(16))
    for cell in cells[:1]:
        frames = np.array(cell)[np.array(cells_of.CORNER_FRAMES[len(cell)])]
        assert len(np.unique(frames)) == len(cell)
        np.testing.assert_allclose(cells_of.volumes(posed, frames) / cells_of.volumes(rest, frames), 1.0)
    assert cells_of.flattest_cells(cells, rest, posed, held, 1) == [1]
    assert cells_of.flattest_cells(cells, rest, posed, held, 9) == [1, 0]
    assert cells_of.flattest_cells(cells, rest, posed, held - set(cells[0]), 9) == [1]


# regions of flesh ---------------------------------------------------------------------------------------------------


def regions_text(touches, **shares) -> str:
    """Returns the notes on contacts of one frame, with the shares of regions [5]."""
    known = {name: np.array(share, dtype=np.float64) for name, share in shares.items()}
    return notes_text(touching_of(Clip([Touches(*touches)]), shares=known))


def test_notes_name_regions():
    """Skin of a region is named by it, with the bone that carries most of it; other skin by its bone, after the region."""
    text = regions_text([(0, 2, 0.0, 1.0)], belly=[0.9, 0.8, 0.2, 0.0, 0.0])
    assert text == "The skin touches itself in frame 10. There the belly (“Belly”) touches “Thigh”."


def test_notes_region_without_bone():
    """A region that no bone carries is named alone."""
    assert "the tail touches “Belly”." in regions_text([(4, 0, 0.0, 1.0)], tail=[0.0, 0, 0, 0, 1.0])


def test_notes_region_touches_itself():
    """A region that touches itself says so, in the singular."""
    assert "the belly (“Belly”) touches itself." in regions_text([(0, 1, 0.0, 1.0)], belly=[1.0, 1.0, 0, 0, 0])
    assert "flesh of the buttocks (“Belly”) touches itself." in regions_text(
        [(0, 1, 0.0, 1.0)], buttocks=[1.0, 1.0, 0, 0, 0]
    )


def test_notes_regions_largest_share():
    """Skin in two regions belongs to that with the larger share, and to none below a half."""
    shares = {"cheeks": [0.6, 0.4, 0, 0, 0], "jowls": [0.7, 0.4, 0, 0, 0]}
    assert "flesh of the jowls (“Belly”) touches “Belly”." in regions_text([(0, 1, 0.0, 1.0)], **shares)


def test_notes_region_touches_thing():
    """Parts that touch an object are named by their region too."""
    shares = {"buttocks": np.array([1.0, 1.0, 0, 0, 0])}
    clip = Clip([Touches((0, 0, 0.0, 1.0, 1))], names=("Body", "Bench"))
    assert "Flesh of the buttocks (“Belly”) touches “Bench” in frame 10." in notes_text(
        touching_of(clip, things=[("“Bench”", 0.0)], shares=shares)
    )


def test_notes_regions_of_other_mesh():
    """Shares of another number of vertices are left out."""
    assert "“Belly” touches “Thigh”" in regions_text([(0, 2, 0.0, 1.0)], belly=[1.0, 1.0])
