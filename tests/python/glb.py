# SPDX-License-Identifier: MIT OR Apache-2.0
"""Skinned characters out of binary glTF files, as far as tests need them: mesh, weights, bones."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import thew
from gltf_file import GltfFile
from scipy.spatial.transform import Rotation


def load(path, height=1.7):
    """Returns vertices, triangles, weights, surface and skeleton of the file's first skin, in its bind pose, scaled to a height."""
    file = GltfFile(path)
    skin = file.json["skins"][0]
    joints = skin["joints"]
    parent = {child: i for i, node in enumerate(file.json["nodes"]) for child in node.get("children", ())}
    to_bind = file.array(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
    vertices, triangles, weights = [], [], []
    base = 0
    for node in file.json["nodes"]:
        if "mesh" not in node or "skin" not in node:
            continue
        for part in file.json["meshes"][node["mesh"]]["primitives"]:
            place = file.array(part["attributes"]["POSITION"]).astype(float)
            dense = np.zeros((len(place), len(joints)))
            bones = file.array(part["attributes"]["JOINTS_0"]).astype(int)
            np.add.at(dense, (np.arange(len(place))[:, None], bones), file.array(part["attributes"]["WEIGHTS_0"]))
            corners = file.array(part["indices"]) if "indices" in part else np.arange(len(place))
            vertices.append(place)
            weights.append(dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-12))
            triangles.append(corners.reshape(-1, 3).astype(int) + base)
            base += len(place)
    vertices, weights, triangles = np.concatenate(vertices), np.concatenate(weights), np.concatenate(triangles)
    heads = np.linalg.inv(to_bind)[:, :3, 3]
    # glTF's Y up into Z up.
    upright = Rotation.from_euler("x", 90, degrees=True).as_matrix()
    vertices, heads = vertices @ upright.T, heads @ upright.T
    scale = height / np.ptp(vertices, axis=0).max()
    vertices, heads = vertices * scale, heads * scale

    def parent_joint(i):
        while i in parent:
            i = parent[i]
            if i in joints:
                return joints.index(i)
        return -1

    parents = [parent_joint(joint) for joint in joints]
    tails = heads + [0, 0, 0.02]
    for bone in range(len(joints)):
        if bone in parents:
            tails[bone] = heads[parents.index(bone)]
    names = [file.json["nodes"][joint].get("name", f"joint {joint}") for joint in joints]
    surface = thew.Surface(vertices, triangles)
    skeleton = thew.Skeleton(names, parents, heads, tails).refit_tails(surface, weights)
    to_metres = np.eye(4)
    to_metres[:3, :3] = scale * upright
    return SimpleNamespace(
        vertices=vertices,
        triangles=triangles,
        weights=weights,
        surface=surface,
        skeleton=skeleton,
        names=names,
        file=file,
        to_metres=to_metres,
    )


def pose(found, animation, seconds):
    """Returns the pose [b,4,4] of a loaded character at an instant of an animation of its file, at the size of its rest."""
    node = next(node["name"] for node in found.file.nodes if "mesh" in node and "skin" in node)
    maps = found.to_metres @ found.file.joint_maps(node, animation, seconds) @ np.linalg.inv(found.to_metres)
    maps[:, :3] /= np.cbrt(np.median(np.linalg.det(maps[:, :3, :3])))
    return maps


def character(name, **options):
    """Returns a character of the shared data, or skips the test where the file is missing."""
    path = Path(os.environ.get("THEW_DATA", "")) / "characters" / f"{name}.glb"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    return load(path, **options)
