# SPDX-License-Identifier: MIT OR Apache-2.0
"""The recipes: a character, the place that matters, and what the artist does after Add Flesh, by the extension's own buttons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
import numpy as np

from assets.characters.figure import Figure
from demo.cookbook import cast
from demo.cookbook.measuring import Take, poke
from demo.extension import activate, flesh_of


@dataclass
class Stage:
    """A character in the scene with the meshes of a recipe."""

    armature: bpy.types.Object
    flesh: bpy.types.Object
    """The mesh whose flesh is measured."""
    meshes: list[bpy.types.Object]
    """All meshes in the picture, those that ride included."""
    place: np.ndarray
    """Vertices of the flesh that are measured, bool[n]."""


@dataclass(frozen=True)
class Recipe:
    """One page of the cookbook."""

    name: str
    place: str
    """Name of the place that is measured."""
    character: Callable[[], Stage]
    cook: Callable[[Stage], None]
    """The steps after Add Flesh."""
    measure: Callable[[Stage, Take], float] = lambda stage, take: take.sway(stage.place)
    """Measured quantity, mm."""
    angle: float = 0.0
    """Turn of the camera around the character, degrees."""
    crop: tuple[float, float] = (1.7, 1.7)
    """Size of the picture over that of the place, across and up."""
    whole: bool = True
    """Add Flesh takes the whole character, as it does at first."""


def positions(obj: bpy.types.Object) -> np.ndarray:
    """Returns the vertices at rest, [n, 3]."""
    flat = np.empty(3 * len(obj.data.vertices))
    obj.data.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def near(obj: bpy.types.Object, centre: tuple[float, float, float], radii: tuple[float, float, float]) -> np.ndarray:
    """Returns the vertices inside a ball with three radii, mirrored to both sides, bool[n]."""
    points = positions(obj)
    points[:, 0] = np.abs(points[:, 0])
    return np.linalg.norm((points - np.array(centre)) / np.array(radii), axis=1) < 1.0


def alone(
    figure: Callable[[], Figure], clip: str, place: Callable[[bpy.types.Object], np.ndarray]
) -> Callable[[], Stage]:
    """Returns a function that makes a stage with one mesh, which has flesh."""

    def make() -> Stage:
        armature, body = cast.appear(figure(), clip)
        activate(body)
        return Stage(armature, body, [body], place(body))

    return make


def soft_edge(obj: bpy.types.Object, centre: tuple[float, ...], radii: tuple[float, ...]) -> np.ndarray:
    """Returns a brush stroke on both sides: 1 in the middle of a ball, fading to 0 at its radii, [n]."""
    points = positions(obj)
    points[:, 0] = np.abs(points[:, 0])
    return np.clip(1.6 * (1.0 - np.linalg.norm((points - np.array(centre)) / np.array(radii), axis=1)), 0.0, 1.0)


def soften(part: str, amount: float = 1.0, size: float = 1.0) -> None:
    """Presses Soften a Body Part."""
    bpy.ops.thew.flesh_preset(part=part, amount=amount, size=size)


def paint(obj: bpy.types.Object, values: np.ndarray) -> None:
    """Paints the map Flesh: the weights that brushes leave."""
    bpy.ops.thew.paint_flesh()
    bpy.ops.object.mode_set(mode="OBJECT")
    group = obj.vertex_groups["Flesh"]
    for vertex, value in enumerate(np.clip(values, 0.0, 1.0)):
        group.add([vertex], float(value), "REPLACE")
    obj.data.update_tag()


def painted(obj: bpy.types.Object) -> np.ndarray:
    """Returns the map Flesh as it is, painted or automatic, [n]."""
    return np.asarray(flesh_of(obj).body.flesh, float).copy()


# the recipes ---------------------------------------------------------------------------------------------------------


def _belly(stage: Stage) -> None:
    soften("BELLY")
    stage.flesh.thew.cells_across = 18
    stage.flesh.thew.softness = 0.6
    stage.flesh.thew.settling = 0.7


def _breasts(stage: Stage) -> None:
    soften("CHEST")
    stage.flesh.thew.cells_across = 20


def _tail(stage: Stage) -> None:
    soften("TAIL")
    stage.flesh.thew.cells_across = 24
    stage.flesh.thew.softness = 0.35


def _jowls(stage: Stage) -> None:
    stroke = soft_edge(stage.flesh, (0.07, -0.54, 0.6), (0.09, 0.13, 0.1))
    paint(stage.flesh, np.maximum(painted(stage.flesh), stroke))
    stage.flesh.thew.cells_across = 32
    stage.flesh.thew.softness = 0.85


def _cape(stage: Stage) -> None:
    down = (1.12 - positions(stage.flesh)[:, 2]) / 0.72
    paint(stage.flesh, np.clip((down - 0.1) / 0.7, 0.0, 1.0))
    stage.flesh.thew.softness = 0.9
    stage.flesh.thew.reach = 0.3


def _back(stage: Stage) -> None:
    stage.flesh.thew.real_height = 3.6
    stage.flesh.thew.kind = "ANIMAL"
    stage.flesh.thew.cells_across = 20
    stage.flesh.thew.softness = 0.4
    paint(stage.flesh, np.maximum(painted(stage.flesh), soft_edge(stage.flesh, (0.0, -0.16, 0.66), (0.17, 0.26, 0.16))))


def _creature(stage: Stage) -> None:
    soften("BELLY")
    stage.flesh.thew.cells_across = 24


def _wing(stage: Stage) -> None:
    x, y, _ = positions(stage.flesh).T
    wing = np.abs(x) > 0.2
    # Hard along the arm and at the root, softer towards the trailing edge.
    values = np.where(wing, 0.5 * np.clip((y + 0.05) / 0.3, 0.0, 1.0), painted(stage.flesh))
    paint(stage.flesh, values)
    stage.flesh.thew.cells_across = 32
    stage.flesh.thew.softness = 0.3


def _clothes(stage: Stage) -> None:
    bpy.ops.thew.ride(rider=stage.meshes[0].name)


def _cape_stage() -> Stage:
    armature, body = cast.appear(cast.cloaked(), "jump")
    cape = cast.cape(armature)
    activate(cape)
    return Stage(armature, cape, [cape, body], positions(cape)[:, 2] < 0.55)


def _clothes_stage() -> Stage:
    armature, body = cast.appear(cast.bodo(), "jump")
    vest = cast.shirt(armature, body)
    activate(body)
    return Stage(armature, body, [vest, body], BELLY(body))


def BELLY(obj: bpy.types.Object) -> np.ndarray:
    """Returns the front of Bodo's belly."""
    return near(obj, (0.0, -0.3, 0.76), (0.22, 0.14, 0.17))


def _membrane(obj: bpy.types.Object) -> np.ndarray:
    x, y, z = positions(obj).T
    return (np.abs(x) > 0.55) & (y > 0.04) & (z > 0.55)


RECIPES = (
    Recipe("belly", "front of the belly", alone(cast.bodo, "jump", BELLY), _belly),
    Recipe(
        "breasts",
        "front of the breasts",
        alone(cast.dora, "jump", lambda obj: near(obj, (0.083, -0.17, 0.98), (0.08, 0.07, 0.08))),
        _breasts,
    ),
    Recipe(
        "tail",
        "last third of the tail",
        alone(cast.wanda, "trot", lambda obj: positions(obj)[:, 1] > 0.56),
        _tail,
        angle=70.0,
    ),
    Recipe(
        "jowls",
        "sides of the muzzle",
        alone(cast.shaker, "shake", lambda obj: near(obj, (0.07, -0.555, 0.6), (0.05, 0.07, 0.06))),
        _jowls,
        angle=30.0,
    ),
    Recipe("cape", "hem of the cape", _cape_stage, _cape, angle=150.0, crop=(1.6, 2.6), whole=False),
    Recipe(
        "back",
        "top of the hump",
        alone(cast.ox, "trot", lambda obj: near(obj, (0.0, -0.16, 0.68), (0.1, 0.14, 0.07))),
        _back,
        angle=70.0,
        crop=(3.4, 3.4),
    ),
    Recipe(
        "creature",
        "flank and belly",
        alone(cast.thea, "walk", lambda obj: near(obj, (0.25, -0.55, 1.15), (0.2, 0.5, 0.3))),
        _creature,
        angle=70.0,
        crop=(2.6, 2.6),
    ),
    Recipe("wing", "outer membrane", alone(cast.drake, "flap", _membrane), _wing, angle=160.0, crop=(1.1, 1.4)),
    Recipe(
        "clothes",
        "front of the vest, depth inside the skin",
        _clothes_stage,
        _clothes,
        whole=False,
        measure=lambda stage, take: poke(take, near(stage.meshes[0], (0.0, -0.2, 0.8), (0.22, 0.25, 0.16))),
    ),
)
