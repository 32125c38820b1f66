# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays binary glTF files with numpy alone: an independent reader of what exports contain.

It knows nodes, animations of all three interpolations, morph targets, sparse accessors and skins, as the specification of glTF 2.0 has
them. Positions come in Blender's axes, z up.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

COMPONENTS = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class GltfFile:
    """A .glb, read whole."""

    def __init__(self, path: Path):
        data = Path(path).read_bytes()
        assert data[:4] == b"glTF", path
        length = int.from_bytes(data[12:16], "little")
        self.json = json.loads(data[20 : 20 + length])
        self.blob = data[28 + length :]
        self.size = len(data)

    def array(self, index: int) -> np.ndarray:
        """Returns the contents of an accessor, [n, width]; sparse values are put in, integers that stand for shares are scaled."""
        accessor = self.json["accessors"][index]
        kind, width = np.dtype(COMPONENTS[accessor["componentType"]]), WIDTHS[accessor["type"]]
        values = np.zeros((accessor["count"], width), dtype=kind)
        if "bufferView" in accessor:
            values = self._rows(
                accessor["bufferView"], accessor.get("byteOffset", 0), accessor["count"], width, kind
            ).copy()
        if "sparse" in accessor:
            sparse = accessor["sparse"]
            where, what = sparse["indices"], sparse["values"]
            rows = self._rows(
                where["bufferView"], where.get("byteOffset", 0), sparse["count"], 1,
                np.dtype(COMPONENTS[where["componentType"]]),
            )  # fmt: skip
            values[rows[:, 0]] = self._rows(what["bufferView"], what.get("byteOffset", 0), sparse["count"], width, kind)
        return values / np.iinfo(kind).max if accessor.get("normalized") else values

    def _rows(self, view: int, offset: int, count: int, width: int, kind: np.dtype) -> np.ndarray:
        """Returns rows of a buffer view, [count, width]."""
        found = self.json["bufferViews"][view]
        stride = found.get("byteStride", width * kind.itemsize)
        start = found.get("byteOffset", 0) + offset
        return np.ndarray((count, width), kind, self.blob, start, (stride, kind.itemsize))

    def animation_names(self) -> list[str]:
        """Returns the names of all animations."""
        return [animation["name"] for animation in self.json.get("animations", ())]

    def target_count(self, mesh: str) -> int:
        """Returns the number of morph targets of the mesh of a node."""
        node = next(node for node in self.json["nodes"] if node.get("name") == mesh)
        return len(self.json["meshes"][node["mesh"]]["primitives"][0].get("targets", ()))

    def rest(self, node_name: str) -> np.ndarray:
        """Returns the mesh of a node as it is stored, without targets and skin, [n, 3]."""
        node = next(node for node in self.json["nodes"] if node.get("name") == node_name)
        return z_up(np.concatenate([self.array(part["attributes"]["POSITION"]) for part in self._parts(node)]))

    def positions(self, node_name: str, animation: str | None, seconds: float) -> np.ndarray:
        """Returns the mesh of a node at an instant of an animation (None: as the file opens), world space, [n, 3]."""
        nodes = [dict(node) for node in self.json["nodes"]]
        for channel, sampler in self._channels(animation):
            target = channel["target"]
            nodes[target["node"]][target["path"]] = self._sample(sampler, target["path"], seconds)
        index = next(i for i, node in enumerate(nodes) if node.get("name") == node_name)
        node, worlds = nodes[index], world_matrices(nodes)
        shape = self._morph(node)
        if "skin" not in node:
            return z_up(shape @ worlds[index][:3, :3].T + worlds[index][:3, 3])
        skin = self.json["skins"][node["skin"]]
        binds = self.array(skin["inverseBindMatrices"]).astype(float).reshape(-1, 4, 4).transpose(0, 2, 1)
        joints = np.array([worlds[joint] for joint in skin["joints"]]) @ binds
        return z_up(np.concatenate(list(self._skin(node, shape, joints))))

    def _channels(self, animation: str | None):
        """Yields (channel, sampler) of an animation."""
        for each in self.json.get("animations", ()):
            if each["name"] == animation:
                for channel in each["channels"]:
                    yield channel, each["samplers"][channel["sampler"]]

    def _sample(self, sampler: dict, path: str, seconds: float) -> list[float]:
        """Returns the value of a sampler at an instant; before its first and after its last time it holds these."""
        times, values = self.array(sampler["input"])[:, 0].astype(float), self.array(sampler["output"]).astype(float)
        kind = sampler.get("interpolation", "LINEAR")
        # Three values a time: in-tangent, value, out-tangent.
        values = values.reshape(len(times), 3 if kind == "CUBICSPLINE" else 1, -1)
        after = int(np.clip(np.searchsorted(times, seconds), 1, max(len(times) - 1, 1)))
        if len(times) == 1:
            return values[0, values.shape[1] // 2].tolist()
        step = times[after] - times[after - 1]
        way = float(np.clip((seconds - times[after - 1]) / step, 0.0, 1.0))
        if kind == "CUBICSPLINE":
            (_, first, out), (into, second, _) = values[after - 1], values[after]
            mixed = hermite(first, step * out, second, step * into, way)
            return (mixed / np.linalg.norm(mixed) if path == "rotation" else mixed).tolist()
        first, second = values[after - 1, 0], values[after, 0]
        if kind == "STEP":
            return (second if way == 1.0 else first).tolist()
        if path == "rotation":
            return slerp(first, second, way).tolist()
        return ((1.0 - way) * first + way * second).tolist()

    def _parts(self, node: dict) -> list[dict]:
        """Returns the primitives of a node's mesh."""
        return self.json["meshes"][node["mesh"]]["primitives"]

    def _morph(self, node: dict) -> np.ndarray:
        """Returns the mesh of a node with its morph targets, [n, 3]."""
        mesh, pieces = self.json["meshes"][node["mesh"]], []
        for part in mesh["primitives"]:
            shape = self.array(part["attributes"]["POSITION"]).astype(float)
            targets = part.get("targets", ())
            weights = node.get("weights", mesh.get("weights", [0.0] * len(targets)))
            for target, weight in zip(targets, weights, strict=bool(targets)):
                if weight and "POSITION" in target:
                    shape = shape + weight * self.array(target["POSITION"])
            pieces.append(shape)
        return np.concatenate(pieces)

    def _skin(self, node: dict, shape: np.ndarray, joints: np.ndarray):
        """Yields the skinned parts of a node's mesh. `joints` [j, 4, 4]: from the mesh at rest to the world."""
        start = 0
        for part in self._parts(node):
            attributes = part["attributes"]
            sets = [name for name in attributes if name.startswith("JOINTS_")]
            bones = np.hstack([self.array(attributes[name]) for name in sets]).astype(int)
            weights = np.hstack([self.array(attributes[name.replace("JOINTS", "WEIGHTS")]) for name in sets])
            blended = np.einsum("nk,nkij->nij", weights.astype(float), joints[bones])
            points = shape[start : start + len(bones)]
            start += len(bones)
            yield np.einsum("nij,nj->ni", blended[:, :3, :3], points) + blended[:, :3, 3]


def world_matrices(nodes: list[dict]) -> list[np.ndarray]:
    """Returns the world matrix of every node, [4, 4] each."""
    parents = {child: i for i, node in enumerate(nodes) for child in node.get("children", ())}
    found: dict[int, np.ndarray] = {}

    def matrix(index: int) -> np.ndarray:
        if index not in found:
            local = local_matrix(nodes[index])
            found[index] = matrix(parents[index]) @ local if index in parents else local
        return found[index]

    return [matrix(i) for i in range(len(nodes))]


def local_matrix(node: dict) -> np.ndarray:
    """Returns the matrix of a node in its parent, [4, 4]."""
    if "matrix" in node:
        return np.array(node["matrix"], dtype=float).reshape(4, 4).T
    matrix = np.eye(4)
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix[:3, :3] = turn * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    matrix[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return matrix


def hermite(first: np.ndarray, out: np.ndarray, second: np.ndarray, into: np.ndarray, way: float) -> np.ndarray:
    """Returns a point of the cubic through two values with these tangents."""
    square, cube = way * way, way**3
    return (
        (2 * cube - 3 * square + 1) * first
        + (cube - 2 * square + way) * out
        + (3 * square - 2 * cube) * second
        + (cube - square) * into
    )


def slerp(first: np.ndarray, second: np.ndarray, way: float) -> np.ndarray:
    """Returns the rotation between two unit quaternions on the short way."""
    cosine = float(first @ second)
    second = second if cosine >= 0.0 else -second
    angle = np.arccos(min(abs(cosine), 1.0))
    if angle < 1e-6:
        mixed = (1.0 - way) * first + way * second
        return mixed / np.linalg.norm(mixed)
    return (np.sin((1.0 - way) * angle) * first + np.sin(way * angle) * second) / np.sin(angle)


def z_up(points: np.ndarray) -> np.ndarray:
    """Returns points of glTF's axes in Blender's."""
    return np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1).astype(float)
