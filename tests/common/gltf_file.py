# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and plays binary glTF files with numpy alone: an independent reader of what exports contain.

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
        self.nodes = self.json["nodes"]
        self.parents = {child: at for at, node in enumerate(self.nodes) for child in node.get("children", ())}
        self._arrays: dict[int, np.ndarray] = {}

    # numbers ----------------------------------------------------------------------------------------------------------

    def array(self, index: int) -> np.ndarray:
        """Returns the contents of an accessor, [n, width]; sparse values are put in, integers that stand for shares are scaled."""
        if index not in self._arrays:
            self._arrays[index] = self._read(self.json["accessors"][index])
        return self._arrays[index]

    def _read(self, accessor: dict) -> np.ndarray:
        """Returns the contents of an accessor, [n, width]."""
        kind, width = np.dtype(COMPONENTS[accessor["componentType"]]), WIDTHS[accessor["type"]]
        count = accessor["count"]
        values = np.zeros((count, width), dtype=kind)
        if "bufferView" in accessor:
            values = self._rows(accessor, count, width, kind).copy()
        if "sparse" in accessor:
            sparse = accessor["sparse"]
            where, few = sparse["indices"], sparse["count"]
            rows = self._rows(where, few, 1, np.dtype(COMPONENTS[where["componentType"]]))
            values[rows[:, 0]] = self._rows(sparse["values"], few, width, kind)
        return values / np.iinfo(kind).max if accessor.get("normalized") else values

    def _rows(self, place: dict, count: int, width: int, kind: np.dtype) -> np.ndarray:
        """Returns rows of a buffer view, [count, width]; `place` names the view and the offset in it."""
        view = self.json["bufferViews"][place["bufferView"]]
        stride = view.get("byteStride", width * kind.itemsize)
        start = view.get("byteOffset", 0) + place.get("byteOffset", 0)
        return np.ndarray((count, width), kind, self.blob, start, (stride, kind.itemsize))

    # animations -------------------------------------------------------------------------------------------------------

    def animation_names(self) -> list[str]:
        """Returns the names of all animations, which are unique."""
        names = [animation["name"] for animation in self.json.get("animations", ())]
        assert len(set(names)) == len(names), names
        return names

    def channels(self, animation: str | None) -> dict[tuple[int, str], dict]:
        """Returns the samplers of an animation by node and path (None: of none)."""
        found = {}
        for each in self.json.get("animations", ()):
            for channel in each["channels"] if each["name"] == animation else ():
                target = channel["target"]["node"], channel["target"]["path"]
                assert target not in found, f"{animation} moves {target} twice"
                found[target] = each["samplers"][channel["sampler"]]
        return found

    def paths(self, animation: str) -> set[str]:
        """Returns the paths that an animation moves."""
        return {path for _, path in self.channels(animation)}

    def span(self, animation: str) -> tuple[float, float]:
        """Returns the first and the last time of an animation, s."""
        times = [self.array(sampler["input"])[:, 0] for sampler in self.channels(animation).values()]
        return min(float(each[0]) for each in times), max(float(each[-1]) for each in times)

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

    # meshes -----------------------------------------------------------------------------------------------------------

    def node(self, name: str) -> int:
        """Returns the index of the first node with a name."""
        return next(at for at, node in enumerate(self.nodes) if node.get("name") == name)

    def mesh(self, node_name: str) -> dict:
        """Returns the mesh of a node."""
        return self.json["meshes"][self.nodes[self.node(node_name)]["mesh"]]

    def target_count(self, node_name: str) -> int:
        """Returns the number of morph targets of the mesh of a node."""
        return len(self.mesh(node_name)["primitives"][0].get("targets", ()))

    def target_names(self, node_name: str) -> list[str]:
        """Returns the names of the morph targets of the mesh of a node."""
        return self.mesh(node_name).get("extras", {}).get("targetNames", [])

    def weights(self, node_name: str, animation: str | None, seconds: float) -> np.ndarray:
        """Returns the weights of the morph targets at an instant of an animation (None: the default ones), [k]."""
        sampler = self.channels(animation).get((self.node(node_name), "weights"))
        if sampler is not None:
            return np.array(self._sample(sampler, "weights", seconds))
        none = [0.0] * self.target_count(node_name)
        return np.array(self.nodes[self.node(node_name)].get("weights", self.mesh(node_name).get("weights", none)))

    def rest(self, node_name: str) -> np.ndarray:
        """Returns the mesh of a node as it is stored, without targets and skin, [n, 3]."""
        parts = self.mesh(node_name)["primitives"]
        return z_up(np.concatenate([self.array(part["attributes"]["POSITION"]) for part in parts]))

    def positions(self, node_name: str, animation: str | None, seconds: float) -> np.ndarray:
        """Returns the mesh of a node at an instant of an animation (None: as the file opens), world space, [n, 3]."""
        index, worlds = self.node(node_name), self._worlds(animation, seconds)
        shape = self._morph(node_name, self.weights(node_name, animation, seconds))
        if "skin" not in self.nodes[index]:
            return z_up(shape @ worlds[index][:3, :3].T + worlds[index][:3, 3])
        joints = self.joint_maps(node_name, animation, seconds)
        return z_up(np.concatenate(list(self._skin(node_name, shape, joints))))

    def joint_maps(self, node_name: str, animation: str | None, seconds: float) -> np.ndarray:
        """Returns the maps of a node's joints from the mesh at rest to the world, in the file's axes, [j, 4, 4]."""
        skin = self.json["skins"][self.nodes[self.node(node_name)]["skin"]]
        binds = self.array(skin["inverseBindMatrices"]).astype(float).reshape(-1, 4, 4).transpose(0, 2, 1)
        worlds = self._worlds(animation, seconds)
        return np.array([worlds[joint] for joint in skin["joints"]]) @ binds

    def _worlds(self, animation: str | None, seconds: float) -> list[np.ndarray]:
        """Returns the world matrix of every node at an instant of an animation (None: as the file opens)."""
        nodes = [dict(node) for node in self.nodes]
        for (at, path), sampler in self.channels(animation).items():
            nodes[at][path] = self._sample(sampler, path, seconds)
        return self._world_matrices(nodes)

    def _morph(self, node_name: str, weights: np.ndarray) -> np.ndarray:
        """Returns the mesh of a node with its morph targets, [n, 3]."""
        pieces = []
        for part in self.mesh(node_name)["primitives"]:
            shape = self.array(part["attributes"]["POSITION"]).astype(float)
            targets = part.get("targets", ())
            for target, weight in zip(targets, weights, strict=bool(targets)):
                if weight and "POSITION" in target:
                    shape = shape + weight * self.array(target["POSITION"])
            pieces.append(shape)
        return np.concatenate(pieces)

    def _skin(self, node_name: str, shape: np.ndarray, joints: np.ndarray):
        """Yields the skinned parts of a node's mesh. `joints` [j, 4, 4]: from the mesh at rest to the world."""
        start = 0
        for part in self.mesh(node_name)["primitives"]:
            attributes = part["attributes"]
            sets = [name for name in attributes if name.startswith("JOINTS_")]
            bones = np.hstack([self.array(attributes[name]) for name in sets]).astype(int)
            weights = np.hstack([self.array(attributes[name.replace("JOINTS", "WEIGHTS")]) for name in sets])
            blended = np.einsum("nk,nkij->nij", weights.astype(float), joints[bones])
            points = shape[start : start + len(bones)]
            start += len(bones)
            yield np.einsum("nij,nj->ni", blended[:, :3, :3], points) + blended[:, :3, 3]

    def _world_matrices(self, nodes: list[dict]) -> list[np.ndarray]:
        """Returns the world matrix of every node, [4, 4] each."""
        found: dict[int, np.ndarray] = {}

        def matrix(index: int) -> np.ndarray:
            if index not in found:
                local = local_matrix(nodes[index])
                found[index] = matrix(self.parents[index]) @ local if index in self.parents else local
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
