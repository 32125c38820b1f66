# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts in motions of bones: what teleports is found, and what is merely quick is not."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
cuts = importlib.import_module("logic.cuts")

FPS, FRAMES = 24.0, 60


def skin() -> cuts.Carried:
    """Builds the skin of a trunk, 1 m high, with an arm of two bones, 0.7 m long."""
    rng = np.random.default_rng(5)
    boxes = (
        ((-0.15, -0.1, 0.0), (0.15, 0.1, 1.0)),
        ((0.15, -0.05, 0.85), (0.5, 0.05, 0.95)),
        ((0.5, -0.05, 0.85), (0.85, 0.05, 0.95)),
    )
    points = np.concatenate([rng.uniform(low, high, size=(200, 3)) for low, high in boxes])
    weights = np.repeat(np.eye(3), 200, axis=0)
    return cuts.Carried.from_skin(("Trunk", "Arm", "Hand"), np.array([-1, 0, 1]), points, weights, 1.3)


def turn(angle: float, about: tuple[float, float, float]) -> np.ndarray:
    """Returns the map that turns about the y axis through a point."""
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.eye(4)
    matrix[:3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    matrix[:3, 3] = np.array(about) - matrix[:3, :3] @ np.array(about)
    return matrix


def poses(places, arms, hands) -> np.ndarray:
    """Returns the maps [f, 3, 4, 4] of the bones: places [f, 3] of the trunk, angles [f] of arm and hand."""
    found = []
    for place, arm, hand in zip(places, arms, hands, strict=True):
        trunk = np.eye(4)
        trunk[:3, 3] = place
        upper = trunk @ turn(arm, (0.15, 0.0, 0.9))
        found.append([trunk, upper, upper @ turn(hand, (0.5, 0.0, 0.9))])
    return np.array(found)


def walk(frames: int = FRAMES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns places, arm and hand of a walk with swinging arms, 1.2 m a second."""
    t = np.arange(frames) / FPS
    places = np.stack([1.2 * t, 0.0 * t, 0.03 * np.sin(4.0 * np.pi * t) ** 2], axis=1)
    return places, 0.5 * np.sin(2.0 * np.pi * t), 0.4 * np.sin(2.0 * np.pi * t + 0.5)


def found(*motion) -> list[tuple]:
    """Returns (frame, bones) of each cut of a motion; the first pose is frame 1."""
    return [(cut.frame, cut.bones) for cut in cuts.find_cuts(poses(*motion), skin(), FPS, 1)]


def test_cuts_of_walk():
    """A walk has none."""
    assert found(*walk()) == []


@pytest.mark.parametrize("far", [0.25, 0.5, 5.0])
@pytest.mark.parametrize("frame", [2, 3, 30, FRAMES])
def test_cuts_teleport(frame, far):
    """A character that walks on elsewhere is cut in the first frame there, the first and the last step included."""
    places, arms, hands = walk()
    places[frame - 1 :, 1] += far
    assert found(places, arms, hands) == [(frame, ())]


def test_cuts_teleport_turned():
    """Nothing depends on direction and place of the world, nor on its scale."""
    places, arms, hands = walk()
    places[29:, 1] += 0.4
    maps, world = poses(places, arms, hands), turn(1.1, (3.0, -2.0, 0.5))
    turned = cuts.find_cuts(world @ maps, skin(), FPS, 1)
    straight = cuts.find_cuts(maps, skin(), FPS, 1)
    assert [(cut.frame, cut.bones) for cut in turned] == [(30, ())]
    assert turned[0].distance == pytest.approx(straight[0].distance, rel=1e-9)
    scaled = maps.copy()
    scaled[..., :3, 3] *= 100.0
    small = skin()
    large = cuts.Carried(
        small.names, small.parents, 100.0 * small.centres, small.shares, 100.0 * small.ends, small.carries, 130.0
    )
    assert cuts.find_cuts(scaled, large, FPS, 1)[0].distance == pytest.approx(straight[0].distance, rel=1e-9)


def test_cuts_there_and_back():
    """A pose that is elsewhere for one frame is cut on the way there and on the way back."""
    places, arms, hands = walk()
    places[29] += (0.0, 1.0, 0.0)
    assert found(places, arms, hands) == [(30, ()), (31, ())]


def test_cuts_two_near():
    """Two cuts a sixth of a second apart are both found."""
    places, arms, hands = walk()
    places[29:, 1] += 1.0
    places[33:, 1] -= 2.0
    assert [frame for frame, _ in found(places, arms, hands)] == [30, 34]


def test_cuts_of_looping_root():
    """A walk whose root goes back to its beginning each second is cut there; one that goes on is not."""
    places, arms, hands = walk()
    back = places.copy()
    back[:, 0] = 1.2 * (np.arange(FRAMES) % 24) / FPS
    assert found(back, arms, hands) == [(25, ()), (49, ())]
    assert found(places, arms, hands) == []


@pytest.mark.parametrize("gap", [8, 20])
def test_cuts_of_retimed(gap):
    """A dance from which frames were cut is cut there."""
    t = np.arange(FRAMES + gap) / FPS
    places = np.stack([0.6 * np.sin(1.7 * t), 0.5 * np.sin(2.3 * t), 0.0 * t], axis=1)
    keep = np.r_[0:25, 25 + gap : FRAMES + gap]
    motion = places[keep], 0.6 * np.sin(2.0 * t[keep]), 0.4 * np.sin(3.0 * t[keep])
    assert found(*motion) == [(26, ())]


def test_cuts_bone():
    """A hand that flips is named alone; an arm that flips is named without its hand."""
    places, arms, hands = walk()
    hands[29:] += 2.0
    assert found(places, arms, hands) == [(30, ("Hand",))]
    places, arms, hands = walk()
    arms[29:] += 2.0
    (cut,) = found(places, arms, hands)
    assert cut[0] == 30 and cut[1] in {("Arm",), ()}


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_cuts_bone_there_and_back(frames):
    """A hand that is elsewhere for a few frames is cut on the way there and on the way back, and both cuts know in which frames."""
    places, arms, hands = walk()
    hands[29 : 29 + frames] += 2.0
    there, back = cuts.find_cuts(poses(places, arms, hands), skin(), FPS, 1)
    assert (there.frame, back.frame) == (30, 30 + frames) and there.bones == back.bones == ("Hand",)
    assert there.away == back.away == tuple(range(30, 30 + frames))
    assert back.is_return and not there.is_return


def test_cuts_bone_stays_beside_one_that_returns():
    """A bone that jumps and stays is not said to come back because another one does so from the same frame on."""
    places, arms, hands = walk()
    arms[29:] += 2.0
    hands[29:31] += 2.0
    broad = replace(skin(), shares=np.array([0.8, 0.1, 0.1]))  # so that the arm is not most of the character
    there, back = cuts.find_cuts(poses(places, arms, hands), broad, FPS, 1)
    assert there.frame == 30 and set(there.bones) == {"Arm", "Hand"} and there.away == () and not there.is_pop
    assert (back.frame, back.bones, back.away) == (32, ("Hand",), (30, 31)) and back.is_pop


@pytest.mark.parametrize("fps", [12.0, 24.0, 30.0, 60.0, 120.0])
def test_cuts_bone_there_and_back_at_rates(fps):
    """A hand that is elsewhere for one frame is found at every rate, and a whole character knows that it comes back."""
    t = np.arange(120) / fps
    places, arms, hands = np.stack([1.2 * t, 0.0 * t, 0.0 * t], axis=1), 0.5 * np.sin(6.0 * t), 0.4 * np.sin(6.0 * t)
    hands[60] += 2.0
    found = cuts.find_cuts(poses(places, arms, hands), skin(), fps, 1)
    assert [(cut.frame, cut.bones, cut.away) for cut in found] == [(61, ("Hand",), (61,)), (62, ("Hand",), (61,))]
    hands[60] -= 2.0
    places[60, 1] += 1.0
    found = cuts.find_cuts(poses(places, arms, hands), skin(), fps, 1)
    assert [(cut.frame, cut.bones, cut.away) for cut in found] == [(61, (), (61,)), (62, (), (61,))]


@pytest.mark.parametrize("frames", [2, 3])
def test_cuts_flick(frames):
    """A blow of an arm out and back, two frames each way or more, is no cut; nor is a hand that shakes from frame to frame."""
    places, arms, hands = walk()
    out = np.clip(1.0 - np.abs(np.arange(FRAMES) - 30) / frames, 0.0, None)
    assert found(places, arms + 2.0 * out, hands) == []
    shaken = hands.copy()
    shaken[20:40] += np.resize([0.0, 1.5], 20)
    assert found(places, arms, shaken) == []


def test_cuts_bone_of_runner():
    """A hand that flips is found on a character that travels twice its size a frame."""
    places, arms, hands = walk()
    places[:, 0] = 2.6 * np.arange(FRAMES)
    hands[29:] += 2.0
    assert found(places, arms, hands) == [(30, ("Hand",))]


@pytest.mark.parametrize("frames", [2, 3, 4])
def test_cuts_punch(frames):
    """A blow of an arm through 120 degrees in two frames and more is no cut, nor is its sudden stop."""
    places, arms, hands = walk()
    arms = np.zeros(FRAMES)
    part = np.clip((np.arange(FRAMES) - 30) / frames, 0.0, 1.0)
    arms += 2.1 * part * part * (3.0 - 2.0 * part)
    assert found(places, arms, hands) == []


def test_cuts_whip():
    """A whip's end, which moves farthest for two frames, is no cut."""
    places, arms, hands = walk()
    t = np.arange(FRAMES)
    hands = 1.5 * np.tanh((t - 30.0) / 1.2)
    arms = 0.8 * np.tanh((t - 29.0) / 2.0)
    assert found(places, arms, hands) == []


def test_cuts_fall_and_landing():
    """A fall of 2 m that ends on hard ground is no cut."""
    places, arms, hands = walk()
    t = np.clip((np.arange(FRAMES) - 10) / FPS, 0.0, None)
    places[:, 2] = np.maximum(2.0 - 4.9 * t * t, 0.0)
    assert found(places, arms, hands) == []


@pytest.mark.parametrize("held", [2, 3, 4])
def test_cuts_held_frames(held):
    """Animation on twos, threes and fours has no cuts."""
    places, arms, hands = walk()
    places[:, 0] *= 3.0
    arms = 0.4 * np.sin(3.0 * np.arange(FRAMES) / FPS + 0.3)
    rows = np.arange(FRAMES) // held * held
    assert found(places[rows], 2.0 * arms[rows], 2.0 * hands[rows]) == []


@pytest.mark.parametrize("held", [2, 3, 4, 6])
@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_cuts_stepped_waves(held, rate):
    """No step of limbs that wave in poses held as long is taken for a cut, whatever the wave; also where the beat is mixed."""
    frames, mixed = np.arange(FRAMES), np.cumsum(np.resize([min(held, 4), 2, 3], FRAMES))
    for rows in (frames // held * held, mixed[np.searchsorted(mixed, frames)]):
        for phase in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False):
            turns = 2.0 * np.pi * rate * rows / FPS + phase
            assert found(np.zeros((FRAMES, 3)), np.sin(turns), 1.2 * np.sin(turns + 0.7)) == [], phase


@pytest.mark.parametrize("held", [2, 3, 4, 6])
def test_cuts_in_stepped(held):
    """A character that is elsewhere from one held pose to the next is cut there, and a hand that flips is named."""
    rows = np.arange(FRAMES) // held * held
    at = 30 // held * held
    places, arms, hands = (each[rows] for each in walk())
    places[at:, 1] += 2.0
    assert found(places, arms, hands) == [(at + 1, ())]
    places[at:, 1] -= 2.0
    hands = 0.1 * hands + np.where(np.arange(FRAMES) < at, 0.0, 2.0)
    assert found(places, 0.1 * arms, hands) == [(at + 1, ("Hand",))]


@pytest.mark.parametrize("held", [2, 3])
def test_cuts_two_near_in_stepped(held):
    """Two cuts half a second apart do not hide each other."""
    rows = np.arange(FRAMES) // held * held
    places, arms, hands = (each[rows] for each in walk())
    places[24:, 1] += 2.0
    places[36:, 1] -= 3.0
    assert found(places, arms, hands) == [(25, ()), (37, ())]


@pytest.mark.parametrize("held", [2, 3, 4, 6])
def test_cuts_there_and_back_in_stepped(held):
    """A held pose that is elsewhere is cut on the way there and on the way back."""
    rows = np.arange(FRAMES) // held * held
    places, arms, hands = (each[rows] for each in walk())
    places[24 : 24 + held, 1] += 2.0
    assert found(places, arms, hands) == [(25, ()), (25 + held, ())]


def test_cuts_hand_on_its_own_beat():
    """A hand that waves on fours on a body that moves in every frame is none; nor is one held pose after another of a still body a style."""
    rows = np.arange(FRAMES) // 4 * 4
    places, arms, _ = walk()
    for phase in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False):
        assert found(places, arms, 1.2 * np.sin(2.0 * np.pi * rows / FPS + phase)) == []
    still = np.zeros((FRAMES, 3)), np.zeros(FRAMES), np.zeros(FRAMES)
    still[0][30:, 1] += 1.0
    assert found(*still) == [(31, ())]


def test_unheld_frames_keep_all_else():
    """Only holds between jumps that follow each other are left out: not those of a still character, nor frames of one that moves."""
    moves = np.zeros(40, dtype=bool)
    assert len(cuts.unheld_frames(moves, 6)) == 41 and len(cuts.unheld_frames(~moves, 6)) == 41
    moves[[10, 14]] = True
    assert len(cuts.unheld_frames(moves, 6)) == 41
    moves[[18, 22]] = True
    kept = cuts.unheld_frames(moves, 6)
    assert set(kept) >= {11, 15, 19, 23} and not set(kept) & {12, 13, 14, 16, 17, 18, 20, 21, 22}
    assert set(range(4)) <= set(kept) and set(range(30, 41)) <= set(kept)


@pytest.mark.parametrize("held", [2, 3, 4])
@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0, 3.0, 4.0])
def test_cuts_held_frames_are_no_pops(held, rate):
    """No pose of limbs that wave on twos, threes or fours counts as a wrong key, also where it looks like one: it recurs.

    Nor does a gesture to and fro of a body that otherwise moves on as many frames.
    """
    rows = np.arange(FRAMES) // held * held
    for phase in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False):
        turns = 2.0 * np.pi * rate * rows / FPS + phase
        found = cuts.find_cuts(poses(np.zeros((FRAMES, 3)), np.sin(turns), 1.2 * np.sin(turns + 0.7)), skin(), FPS, 1)
        assert not any(cut.is_pop for cut in found), phase
    places, arms, hands = walk()
    hands = np.zeros(FRAMES)
    hands[6 * held : 7 * held] = 2.0
    assert not any(cut.is_pop for cut in cuts.find_cuts(poses(places[rows], arms[rows], hands), skin(), FPS, 1))
    # On the bones of a body that does not hold its poses, the same gesture is a wrong key.
    assert any(cut.is_pop for cut in cuts.find_cuts(poses(places, arms, hands), skin(), FPS, 1))


def test_round_trips_of_all_pairs():
    """The pairs that are found are those that a plain search through all pairs of steps finds."""
    rng, total = np.random.default_rng(1), 0
    for _ in range(300):
        count = int(rng.integers(4, 40))
        path = np.cumsum(0.01 * rng.normal(size=(count, 6, 3)), axis=0)
        for at in rng.integers(0, count, rng.integers(0, 4)):
            path[at : at + rng.integers(1, 6)] += 0.5 * rng.normal(size=3)
        steps, surprises = (each.max(axis=1) for each in cuts.steps_and_surprises(path))
        wanted = []
        for there in range(len(steps)):
            for back in range(there + 1, min(there + 5, len(steps))):
                shorter = min(steps[there], steps[back])
                close = [
                    steps[k] for k in range(max(there - 1, 0), min(back + 2, len(steps))) if k not in {there, back}
                ]
                near = [surprises[k] for k in range(len(steps)) if 2 < there - k <= 6 or 2 < k - back <= 6]
                if (
                    shorter > cuts.MIN_BONE_STEP
                    and np.linalg.norm(path[back + 1] - path[there], axis=-1).max() < cuts.MAX_BONE_RETURN * shorter
                    and shorter > cuts.MIN_BONE_RATIO * max([*close, cuts.TINY_STEP])
                    and min(surprises[there], surprises[back]) > cuts.MIN_SURPRISE_RATIO * max([0.0, *near])
                ):
                    wanted.append((there, back))
        assert cuts.round_trips(path, steps, surprises, 6, 4) == wanted
        total += len(wanted)
    assert total > 50


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_cuts_of_few_poses(count):
    """Ranges of few poses are no fault."""
    places, arms, hands = walk()
    assert found(places[:count], arms[:count], hands[:count]) == [] if count else True


def test_cuts_flat_bone():
    """A bone that is scaled to nothing, and one without any skin, give numbers and no warnings."""
    maps = poses(*walk())
    maps[20:, 1, :3, :3] = 0.0
    with np.errstate(all="raise"):
        cuts.find_cuts(maps, skin(), FPS, 1)
    bare = cuts.Carried.from_skin(("A", "B"), np.array([-1, 0]), np.zeros((3, 3)), np.array([[1.0, 0.0]] * 3), 1.0)
    assert not bare.carries[1] and cuts.find_cuts(maps[:, :2], bare, FPS, 1) == ()


def test_cut_sentence():
    """The sentence names frames, bones and the remedy."""
    hand = cuts.Cut(7, 0.4, ("Hand.L",))
    assert cuts.cut_text([hand]) == "“Hand.L” jumps in frame 7: where that is a cut, press Restart Here"
    assert cuts.cut_text([hand, cuts.Cut(9, 2.0)]).startswith("Everything jumps in frame 9:")
    assert cuts.cut_text([]) == "" and hand.text == "“Hand.L” jumps by 40 % of its size"
    pair = [cuts.Cut(7, 0.4, ("Hand.L",), (7, 8)), cuts.Cut(9, 0.4, ("Hand.L",), (7, 8))]
    assert cuts.cut_text(pair).startswith("“Hand.L” is elsewhere in frames 7 and 8 alone: correct its keys there")
    assert cuts.cut_text([*pair, hand]).startswith("“Hand.L” jumps in frames")
    whole = [cuts.Cut(7, 1.0, (), (7,)), cuts.Cut(8, 1.0, (), (7,))]
    assert cuts.cut_text([*whole, *pair]).startswith("Everything is elsewhere in frames 7 and 8 alone")
    # The button that accepts all is drawn for several; of one half alone the sentence names the one that is there.
    for half in pair:
        assert cuts.cut_text([half]) == f"“Hand.L” jumps in frame {half.frame}: where that is a cut, press Restart Here"
    assert cuts.cut_text([*pair, whole[1]]).endswith("press Restart Here")
    assert pair[1].row_text == "Frame 9: “Hand.L” jumps back" and "jumps by 40 %" in pair[0].row_text
    many = cuts.Cut(3, 0.2, tuple("ABCDE"))
    assert many.what == "“A”, “B” and 3 more jump"
