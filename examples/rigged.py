# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flesh with rigs: Hilda's expressions, a limb for the templates, and guides aimed in the world. Needs no Blender."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import thew

from assets.characters import head
from assets.characters.figure import Bone
from examples import models


@dataclass
class Rigged:
    """A body with rigs, several under one name: they share a control."""

    vertices: np.ndarray
    triangles: np.ndarray
    colours: np.ndarray
    body: thew.Body
    pose: np.ndarray
    """At rest, [b,4,4]."""
    rigs: dict[str, list[thew.Rig]] = field(default_factory=dict)

    def balanced_skin(self, controls: dict[str, float]) -> np.ndarray:
        """The skin [n,3] in balance with the rigs at these controls; a rig without one does nothing."""
        balance = thew.Equilibrium(self.body)
        balance.set_pose(self.pose)
        pushes = [rig.forces(self.body, gamma) for name, gamma in controls.items() for rig in self.rigs[name]]
        balance.solve(rest_forces=sum(pushes, np.zeros((self.body.node_count, 3))))
        return np.asarray(balance.positions(), float)


def make_body(vertices, triangles, colours, weights, bones: list[Bone], cells_across: float) -> Rigged:
    """A body on some bones, parents first; weights None: by distance."""
    surface = thew.Surface(vertices, triangles)
    names = [bone.name for bone in bones]
    parents = [names.index(bone.parent) if bone.parent in names else -1 for bone in bones]
    ends = (np.array([getattr(bone, end) for bone in bones]) for end in ("head", "tail"))
    skeleton = thew.Skeleton(names, parents, *ends)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=cells_across)
    even = np.ones(len(vertices))  # as the paper's flesh, of one stiffness
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, flesh=even)
    return Rigged(vertices, triangles, colours, body, np.tile(np.eye(4), (len(bones), 1, 1)))


def guide_on_skin(surface: thew.Surface, point, towards, depth: float = 0.0) -> thew.SkinGuide:
    """A guide at the place of the skin nearest to a point, rolled and tilted so that Z points `towards`."""
    nearest, _, faces = surface.closest_point(np.array([point], float))
    corners = np.asarray(surface.vertices)[np.asarray(surface.triangles)[faces[0]]]
    weights = np.linalg.lstsq(np.vstack([corners.T, np.ones(3)]), np.append(nearest[0], 1.0), rcond=None)[0]
    weights = np.clip(weights, 0.0, 1.0)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    normal /= np.linalg.norm(normal)
    first = (corners[1] - corners[0]) / np.linalg.norm(corners[1] - corners[0])
    towards = np.asarray(towards, float) / np.linalg.norm(towards)
    across = np.cross(normal, first)
    roll = np.arctan2(towards @ across, towards @ first)
    tilt = np.arctan2(np.hypot(towards @ across, towards @ first), towards @ normal)
    return thew.SkinGuide(int(faces[0]), tuple(weights / weights.sum()), depth=depth, roll=roll, tilt=tilt)


def frame(origin, towards) -> np.ndarray:
    """A frame [4,4] whose Z points `towards`."""
    z = np.asarray(towards, float) / np.linalg.norm(towards)
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    result = np.eye(4)
    result[:3] = np.stack([x, np.cross(z, x), z, np.asarray(origin, float)], axis=1)
    return result


def hilda(cells_across: float = 48.0) -> Rigged:
    """The head with the rigs of the paper's Figure 4: a smile of two bumps, a frown of four, nostrils of two tori."""
    skin = head.skin()
    face = make_body(skin.vertices, skin.triangles(), skin.colours, skin.weights, head.figure().bones, cells_across)
    for side in (1.0, -1.0):
        corner, brow, nostril = _mirrored(side, (0.036, -0.078, -0.052), (0.015, -0.08, 0.056), (0.009, -0.099, -0.02))
        up, down, inwards, hole = _mirrored(
            side, (0.55, 0.3, 0.95), (0.15, 0.1, -1.0), (-0.6, -0.3, -0.8), (0.0, -0.3, -1.0)
        )
        skin = face.body.surface
        for name, kind, guide, sizes, strength in (
            ("smile", "bump", guide_on_skin(skin, corner, up, 0.003), {"radius": 0.02}, 2.5e6),
            ("frown", "bump", guide_on_skin(skin, corner, down, 0.004), {"radius": 0.017}, 1.8e6),
            ("frown", "bump", guide_on_skin(skin, brow, inwards, 0.004), {"radius": 0.015}, 2.2e6),
            ("nostrils", "torus", thew.FreeGuide(frame(nostril, hole)), {"ring_radius": 0.0075, "tube_radius": 0.007}, 2e7),
        ):  # fmt: skip
            template = thew.Template(kind, **sizes, strength=strength)
            samples = [(0.0, {"strength": 0.0}), (1.0, {"strength": strength})]
            rig = thew.Rig(template, guide, samples, name=f"{name} {'left' if side > 0 else 'right'}")
            face.rigs.setdefault(name, []).append(rig)
    return face


def limb(detail: int = 24, cells_across: float = 26.0) -> Rigged:
    """A round limb with a bone in its middle, ruled like graph paper, and one rig of each template."""
    shape = models.ruled_limb(detail)
    bone = Bone("bone", None, (0.0, 0.0, 0.06), (0.0, 0.0, 0.74))
    body = make_body(shape.vertices, shape.triangles, shape.colours, None, [bone], cells_across)
    front = guide_on_skin(body.body.surface, (0.0, -0.16, 0.4), (0.0, -1.0, 0.0), depth=0.02)
    middle = thew.BoneGuide("bone")
    upright = thew.BoneGuide("bone", tilt=np.pi / 2)
    for template, guide in (
        (thew.Template("bump", radius=0.12, strength=4e5), front),
        (thew.Template("radial", radius=0.2, strength=6e5), middle),
        (thew.Template("bulge", radius=0.26, strength=2e5), upright),
        (thew.Template("torus", ring_radius=0.15, tube_radius=0.1, strength=3.5e5), upright),
    ):
        samples = [(0.0, {"strength": 0.0}), (1.0, {})]
        body.rigs[template.kind] = [thew.Rig(template, guide, samples, name=template.kind)]
    return body


def _mirrored(side: float, *vectors) -> list[np.ndarray]:
    return [np.array(vector) * [side, 1.0, 1.0] for vector in vectors]
