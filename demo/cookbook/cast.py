# SPDX-License-Identifier: MIT OR Apache-2.0
"""The characters of the recipes: Bodo and Wanda as they are, and figures made of them."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from assets.characters import FIGURES, biped, quadruped, theropod, use_action
from assets.characters.choreography import FPS, Pose, smooth, turn
from assets.characters.figure import Bone, Clip, Figure
from assets.characters.implicit import Part, both_sides
from assets.characters.scene import build


def appear(figure: Figure, clip: str) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds a figure in the scene and gives it an action. Returns its armature and mesh."""
    armature, body = build(figure)
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = FPS, 1.0
    use_action(armature, clip)
    return armature, body


def bodo() -> Figure:
    """Returns the fat-bellied biped."""
    return FIGURES["biped"]()


def wanda() -> Figure:
    """Returns the hound."""
    return FIGURES["quadruped"]()


def thea() -> Figure:
    """Returns the theropod."""
    return theropod.figure()


def shaker() -> Figure:
    """Returns the hound, who shakes her head."""
    return replace(quadruped.figure(), clips={"shake": Clip(48, shake)})


def shake(wanda: Figure, t: float) -> Pose:
    """Returns the pose at time t of a head that is shaken for a second, three times a second, and held still."""
    share = smooth(t / 0.2) * (1.0 - smooth((t - 1.1) / 0.25))
    pose = Pose(wanda, np.zeros(3), turn())
    pose.turn("neck", 0.0, 8.0 * share * np.sin(6.0 * np.pi * t), 6.0 * share * np.sin(6.0 * np.pi * t))
    pose.turn("head", 0.0, 26.0 * share * np.sin(6.0 * np.pi * t - 0.4), 12.0 * share * np.sin(6.0 * np.pi * t - 0.4))
    return pose


def dora() -> Figure:
    """Returns a woman on Bodo's bones, in a shirt, with breasts and a small belly."""
    figure = biped.figure()
    slim = [replace(part, radii=(0.2, 0.165, 0.19), a=(0.0, 0.0, 0.79)) if part.tilt else part for part in figure.parts]
    slim = [replace(part, radii=(0.18, 0.15, 0.17)) if part.a == (0.0, -0.02, 0.86) else part for part in slim]
    breast = Part((0.083, -0.125, 0.985), None, (0.083, 0.085, 0.088), "chest", "shirt")
    palette = {**figure.palette, "shirt": (0.36, 0.60, 0.52), "hair": (0.55, 0.30, 0.13)}
    return replace(figure, name="Dora", parts=[*slim, *both_sides(breast)], palette=palette)


def ox() -> Figure:
    """Returns a heavy beast on Wanda's bones: a hump over the shoulders, a broad back, no hanging ears."""
    figure = quadruped.figure()
    parts = [part for part in figure.parts if part.colour != "ear"]
    hump = [
        Part((0.0, -0.16, 0.60), None, (0.085, 0.15, 0.1), "chest", "coat"),
        Part((0.0, 0.05, 0.54), None, (0.11, 0.2, 0.09), "spine", "coat"),
    ]
    palette = {**figure.palette, "coat": (0.44, 0.36, 0.32), "belly": (0.58, 0.50, 0.45), "muzzle": (0.62, 0.55, 0.5)}
    return replace(figure, name="Ox", parts=[*parts, *hump], palette=palette)


def drake() -> Figure:
    """Returns a winged beast on Wanda's bones: three bones a wing, and a membrane of skin behind them."""
    figure = quadruped.figure()
    parts = [part for part in figure.parts if part.colour != "ear"]
    points = [(0.09, -0.16, 0.58), (0.34, -0.2, 0.72), (0.66, -0.16, 0.70), (0.98, -0.02, 0.62)]
    names = ["wing.1.L", "wing.2.L", "wing.3.L"]
    bones = [
        Bone(name, parent, a, b)
        for name, parent, a, b in zip(names, ["chest", *names], points, points[1:], strict=False)
    ]
    arm = [Part(bone.head, bone.tail, (0.046, 0.04), bone.name, "bone") for bone in bones]
    skin = [
        Part((0.24, 0.02, 0.645), None, (0.2, 0.24, 0.034), "wing.1.L", "membrane"),
        Part((0.50, 0.04, 0.70), None, (0.22, 0.25, 0.034), "wing.2.L", "membrane"),
        Part((0.78, 0.07, 0.66), None, (0.22, 0.2, 0.034), "wing.3.L", "membrane"),
    ]
    wing = [side for part in [*arm, *skin] for side in both_sides(part)]
    palette = {**figure.palette, "coat": (0.30, 0.46, 0.34), "belly": (0.80, 0.78, 0.55), "muzzle": (0.36, 0.52, 0.38)}
    palette |= {"bone": (0.26, 0.38, 0.30), "membrane": (0.80, 0.42, 0.30), "socks": (0.26, 0.38, 0.30)}
    return replace(
        figure,
        name="Drake",
        bones=[*figure.bones, *bones, *(bone.mirrored() for bone in bones)],
        parts=[*parts, *wing],
        palette=palette,
        cell=0.013,
        clips={"flap": Clip(60, flap)},
    )


def flap(drake: Figure, t: float) -> Pose:
    """Returns the pose at time t of a beast that hovers: two wing beats a second, and a stop with spread wings."""
    strength = 1.0 - min(max((t - 1.75) / 0.25, 0.0), 1.0)
    cycle = 4.0 * np.pi * t
    pose = Pose(drake, np.array([0.0, 0.0, 0.45 - 0.06 * strength * np.cos(cycle)]), turn(-14.0))
    for side, sign in (("L", -1.0), ("R", 1.0)):
        pose.turn(f"wing.1.{side}", 0.0, sign * (6.0 + 30.0 * strength * np.sin(cycle)), 0.0)
        pose.turn(f"wing.2.{side}", 0.0, sign * 16.0 * strength * np.sin(cycle - 0.5), 0.0)
        pose.turn(f"wing.3.{side}", 0.0, sign * 14.0 * strength * np.sin(cycle - 0.9), 0.0)
        for limb in ("thigh", "upperarm"):
            pose.turn(f"{limb}.{side}", 18.0 if limb == "thigh" else -22.0)
    return pose


def sheet(
    armature: bpy.types.Object, name: str, rows: np.ndarray, bones: dict[str, np.ndarray], colour: tuple
) -> bpy.types.Object:
    """Adds a skinned sheet of cloth, one quad between neighbours of `rows` [r, c, 3]; `bones`: weights [r, c]."""
    count, across = rows.shape[:2]
    data = bpy.data.meshes.new(name)
    index = np.arange(count * across).reshape(count, across)
    quads = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 4)
    data.from_pydata(rows.reshape(-1, 3).tolist(), [], quads.tolist())
    return clothe(armature, name, data, {bone: share.ravel() for bone, share in bones.items()}, colour)


def clothe(
    armature: bpy.types.Object, name: str, data: bpy.types.Mesh, bones: dict[str, np.ndarray], colour: tuple
) -> bpy.types.Object:
    """Adds a mesh as clothes on an armature, of one colour (sRGB), with its weights by bone."""
    data.polygons.foreach_set("use_smooth", np.ones(len(data.polygons), bool))
    attribute = data.color_attributes.new("Colour", "FLOAT_COLOR", "POINT")
    rgba = np.tile([*(c**2.2 for c in colour), 1.0], (len(data.vertices), 1))
    attribute.data.foreach_set("color", rgba.astype(np.float32).ravel())
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    for bone, share in bones.items():
        group = obj.vertex_groups.new(name=bone)
        for vertex in np.flatnonzero(share > 1e-3):
            group.add([int(vertex)], float(share[vertex]), "REPLACE")
    obj.parent = armature
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    return obj


CAPE_TOP, CAPE_LENGTH = 1.12, 0.72


def cloaked() -> Figure:
    """Returns Bodo with two bones for a cape, which end above its lower third."""
    figure = biped.figure()
    ends = [(0.0, *cape_point(t)) for t in (0.03, 0.35, 0.62)]
    bones = [Bone("cape.1", "chest", ends[0], ends[1]), Bone("cape.2", "cape.1", ends[1], ends[2])]
    return replace(figure, bones=[*figure.bones, *bones])


def cape_point(t: float) -> tuple[float, float]:
    """Returns depth and height of the middle of the cape, t from 0 at the collar to 1 at the hem."""
    return 0.235 + 0.07 * t, CAPE_TOP - CAPE_LENGTH * t


def cape(armature: bpy.types.Object) -> bpy.types.Object:
    """Adds a cape: from the shoulders to the knees, carried by chest and its own two bones."""
    down, across = np.linspace(0.0, 1.0, 33), np.linspace(-1.0, 1.0, 33)
    t, s = np.meshgrid(down, across, indexing="ij")
    depth, height = cape_point(t)
    rows = np.stack([(0.15 + 0.17 * t) * s, depth - 0.1 * s**2 * (1.0 - 0.4 * t), height], axis=-1)
    lower = np.clip((t - 0.3) / 0.15, 0.0, 1.0)
    chest = np.clip(1.0 - t / 0.1, 0.0, 1.0)
    weights = {"chest": chest, "cape.1": (1.0 - chest) * (1.0 - lower), "cape.2": (1.0 - chest) * lower}
    return sheet(armature, "Cape", rows, weights, (0.72, 0.16, 0.2))


def shirt(armature: bpy.types.Object, body: bpy.types.Object, off: float = 0.008) -> bpy.types.Object:
    """Adds a vest to Bodo: the skin of his trunk, moved out by some millimetres, with the weights of the skin."""
    mesh = body.data
    names = [group.name for group in body.vertex_groups]
    weights = np.zeros((len(mesh.vertices), len(names)))
    for vertex in mesh.vertices:
        for group in vertex.groups:
            weights[vertex.index, group.group] = group.weight
    trunk = weights[:, [names.index(name) for name in ("spine", "chest", "hips")]].sum(axis=1)
    points = np.array([vertex.co for vertex in mesh.vertices])
    inside = (trunk > 0.6) & (points[:, 2] > 0.62) & (points[:, 2] < 1.13)
    normals = np.array([vertex.normal for vertex in mesh.vertices])
    faces = [list(polygon.vertices) for polygon in mesh.polygons if inside[list(polygon.vertices)].all()]
    used = np.unique(np.concatenate(faces))
    place = np.full(len(points), -1)
    place[used] = np.arange(len(used))
    data = bpy.data.meshes.new("Vest")
    data.from_pydata((points + off * normals)[used].tolist(), [], [place[face].tolist() for face in faces])
    groups = {name: weights[used, k] for k, name in enumerate(names) if weights[used, k].any()}
    return clothe(armature, "Vest", data, groups, (0.30, 0.34, 0.62))
