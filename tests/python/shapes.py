# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shapes, skeletons and poses for tests, made by numpy alone."""

import numpy as np
from scipy.spatial.transform import Rotation


def box(half=(1.0, 1.0, 1.0)):
    """Builds a cuboid around the origin, faces outward."""
    corners = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], dtype=float)
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    triangles = [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])]
    return corners * half, np.array(triangles)


def arm(segments=24, rings=48, length=1.0, radius=0.1):
    """Builds a capsule along x from 0 to `length` between the centres of its caps."""
    half_turn = np.linspace(0.0, np.pi, rings + 1)[1:-1]
    along, across = -np.cos(half_turn), np.sin(half_turn)
    x = np.where(along < 0, 0.0, length) + radius * along
    angle = 2 * np.pi * np.arange(segments) / segments
    # A row of rings along the cylinder between the caps.
    middle = np.linspace(0.0, length, rings)[1:-1]
    x = np.concatenate([x[along < 0], middle, x[along >= 0]])
    r = np.concatenate([across[along < 0], np.ones(len(middle)), across[along >= 0]]) * radius
    body = np.stack(
        [
            np.repeat(x, segments),
            np.outer(r, np.cos(angle)).ravel(),
            np.outer(r, np.sin(angle)).ravel(),
        ],
        axis=1,
    )
    ends = np.array([[-radius, 0, 0], [length + radius, 0, 0]])
    vertices = np.concatenate([body, ends])
    n, first, last = len(x), len(body), len(body) + 1
    triangles = []
    for j in range(segments):
        k = (j + 1) % segments
        triangles.append([first, k, j])
        triangles.append([last, (n - 1) * segments + j, (n - 1) * segments + k])
        for i in range(n - 1):
            a, b, c, d = i * segments + j, i * segments + k, (i + 1) * segments + k, (i + 1) * segments + j
            triangles += [[a, b, c], [a, c, d]]
    return vertices, np.array(triangles)


def arm_bones(length=1.0):
    """Returns two bones, half of the arm each: names, parents, heads, tails."""
    heads = np.array([[0.0, 0, 0], [length / 2, 0, 0]])
    return ["upper", "lower"], [-1, 0], heads, heads + [length / 2, 0, 0]


def arm_weights(vertices, length=1.0):
    """Returns weights that go from one bone to the other over the middle fifth."""
    lower = np.clip((vertices[:, 0] / length - 0.4) / 0.2, 0.0, 1.0)
    return np.stack([1.0 - lower, lower], axis=1)


def turn_about(turn, centre=(0.0, 0.0, 0.0), shift=(0.0, 0.0, 0.0)):
    """Returns a rotation vector about a centre, then a shift, as a matrix."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    matrix[:3, 3] = np.add(centre, shift) - matrix[:3, :3] @ centre
    return matrix


def turned_branch(skeleton, bone, turn):
    """Returns the rest pose with a bone and all its descendants turned by a rotation vector about its head, [b,4,4]."""
    pose = np.tile(np.eye(4), (len(skeleton.names), 1, 1))
    for b in range(len(pose)):
        above = b
        while above not in (bone, -1):
            above = skeleton.parents[above]
        if above == bone:
            pose[b] = turn_about(turn, skeleton.heads[bone])
    return pose


def bend(angle, length=1.0):
    """Returns a pose [2,4,4] with the lower bone turned about y at the elbow."""
    return np.stack([np.eye(4), turn_about([0.0, angle, 0.0], [length / 2, 0, 0])])


def apply(matrix, points):
    """Moves points [n,3] by a matrix [4,4]."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def enclosed_volume(vertices, triangles):
    """Returns the volume enclosed by a closed, outward surface."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def ball(radius=0.2, divisions=16):
    """Builds a sphere around the origin: a cube's faces in squares, each pushed out to it; faces outward."""
    g = np.tan(np.linspace(-np.pi / 4, np.pi / 4, divisions + 1))
    a, b = (x.ravel() for x in np.meshgrid(g, g, indexing="ij"))
    n = divisions + 1
    i, j = (x.ravel() for x in np.indices((divisions, divisions)))
    quads = np.stack([i * n + j, (i + 1) * n + j, (i + 1) * n + j + 1, i * n + j + 1], axis=1)
    vertices, triangles = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            side = np.stack([np.full_like(a, sign), a, b], axis=1)[
                :, np.argsort([axis, (axis + 1) % 3, (axis + 2) % 3])
            ]
            turned = quads if sign > 0 else quads[:, ::-1]
            triangles.append(np.concatenate([turned[:, [0, 1, 2]], turned[:, [0, 2, 3]]]) + len(vertices) * len(a))
            vertices.append(side)
    vertices = np.concatenate(vertices)
    _, first, of = np.unique(np.round(vertices, 9), axis=0, return_index=True, return_inverse=True)
    vertices = vertices[first] / np.linalg.norm(vertices[first], axis=1, keepdims=True)
    return radius * vertices, of.ravel()[np.concatenate(triangles)]
