# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads .glb files and evaluates their animations, with numpy alone: skins, morph targets, linear and stepped samplers."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Gltf:
    """One file."""

    def __init__(self, path: Path):
        data = Path(path).read_bytes()
        length = struct.unpack("<I", data[12:16])[0]
        self.json = json.loads(data[20 : 20 + length])
        self.binary = data[20 + length + 8 :]
        self.nodes = self.json["nodes"]
        self.parents = {child: at for at, node in enumerate(self.nodes) for child in node.get("children", ())}

    def read(self, view: int, start: int, kind: int, width: int, count: int) -> np.ndarray:
        """Returns numbers of a buffer view, [count, width]."""
        found = self.json["bufferViews"][view]
        dtype = np.dtype(KINDS[kind])
        begin, stride = found.get("byteOffset", 0) + start, found.get("byteStride", dtype.itemsize * width)
        rows = [np.frombuffer(self.binary, dtype, width, begin + stride * row) for row in range(count)]
        return np.array(rows).reshape(count, width)

    def accessor(self, index: int) -> np.ndarray:
        """Returns the numbers of an accessor, [count, width]."""
        found = self.json["accessors"][index]
        kind, width, count = found["componentType"], WIDTHS[found["type"]], found["count"]
        values = np.zeros((count, width))
        if "bufferView" in found:
            values = self.read(found["bufferView"], found.get("byteOffset", 0), kind, width, count).astype(float)
        if "sparse" in found:
            few = found["sparse"]
            places, rows = few["indices"], few["values"]
            at = self.read(places["bufferView"], places.get("byteOffset", 0), places["componentType"], 1, few["count"])
            values[at[:, 0]] = self.read(rows["bufferView"], rows.get("byteOffset", 0), kind, width, few["count"])
        return values

    @property
    def animations(self) -> dict[str, dict]:
        """Returns the animations by name."""
        names = [each["name"] for each in self.json.get("animations", ())]
        assert len(set(names)) == len(names), names
        return dict(zip(names, self.json.get("animations", ()), strict=True))

    def channels(self, name: str) -> dict[tuple[int, str], tuple[np.ndarray, np.ndarray, str]]:
        """Returns the channels of an animation: times [t], values [t, ...] and interpolation, by node and path."""
        animation, found = self.animations[name], {}
        for channel in animation["channels"]:
            sampler, target = (
                animation["samplers"][channel["sampler"]],
                (channel["target"]["node"], channel["target"]["path"]),
            )
            assert target not in found, f"{name} moves {target} twice"
            times, values = self.accessor(sampler["input"])[:, 0], self.accessor(sampler["output"])
            found[target] = times, values.reshape(len(times), -1), sampler.get("interpolation", "LINEAR")
        return found

    def paths(self, name: str) -> set[str]:
        """Returns the paths that an animation moves."""
        return {path for _, path in self.channels(name)}

    def span(self, name: str) -> tuple[float, float]:
        """Returns the first and the last time of an animation."""
        times = [each[0] for each in self.channels(name).values()]
        return min(each[0] for each in times), max(each[-1] for each in times)

    def skinned_node(self) -> int:
        """Returns the one node with a mesh and a skin."""
        (found,) = [at for at, node in enumerate(self.nodes) if "mesh" in node and "skin" in node]
        return found

    def target_names(self) -> list[str]:
        """Returns the names of the mesh's morph targets."""
        return self.json["meshes"][self.nodes[self.skinned_node()]["mesh"]].get("extras", {}).get("targetNames", [])

    def default_weights(self) -> np.ndarray:
        """Returns the weights of the mesh where no animation moves them, [k]."""
        node = self.nodes[self.skinned_node()]
        mesh = self.json["meshes"][node["mesh"]]
        return np.array(node.get("weights", mesh.get("weights", [0.0] * len(self.target_names()))))

    def weights(self, name: str, time: float) -> np.ndarray:
        """Returns the weights of the mesh in an animation at a time, [k]; the default ones where it does not move them."""
        channel = self.channels(name).get((self.skinned_node(), "weights"))
        return self.default_weights() if channel is None else sample(*channel, time)

    def shape(self, name: str, time: float) -> np.ndarray:
        """Returns the skinned vertices of the one mesh in an animation at a time, with Blender's axes, [n, 3]."""
        node = self.nodes[self.skinned_node()]
        mesh, skin, channels = self.json["meshes"][node["mesh"]], self.json["skins"][node["skin"]], self.channels(name)
        weights = self.weights(name, time)
        (primitive,) = mesh["primitives"]
        points = self.accessor(primitive["attributes"]["POSITION"])
        for weight, target in zip(weights, primitive.get("targets", ()), strict=True):
            if weight != 0.0 and "POSITION" in target:
                points = points + weight * self.accessor(target["POSITION"])
        inverse = self.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        maps = np.array([self.world(joint, channels, time) for joint in skin["joints"]]) @ inverse
        joints = self.accessor(primitive["attributes"]["JOINTS_0"]).astype(int)
        shares = self.accessor(primitive["attributes"]["WEIGHTS_0"])
        blended = np.einsum("nk,nkij->nij", shares, maps[joints])
        found = np.einsum("nij,nj->ni", blended[:, :3, :3], points) + blended[:, :3, 3]
        return np.stack([found[:, 0], -found[:, 2], found[:, 1]], axis=1)

    def world(self, at: int, channels: dict, time: float) -> np.ndarray:
        """Returns a node's matrix of the world in an animation at a time, [4, 4]."""
        node, parts = self.nodes[at], {}
        for path, default in (("translation", [0, 0, 0]), ("rotation", [0, 0, 0, 1]), ("scale", [1, 1, 1])):
            channel = channels.get((at, path))
            parts[path] = np.array(node.get(path, default), float) if channel is None else sample(*channel, time)
        x, y, z, w = parts["rotation"] / np.linalg.norm(parts["rotation"])
        turn = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = turn * parts["scale"], parts["translation"]
        return matrix if at not in self.parents else self.world(self.parents[at], channels, time) @ matrix


def sample(times: np.ndarray, values: np.ndarray, interpolation: str, time: float) -> np.ndarray:
    """Returns the value of a channel at a time; its end values beyond its times."""
    assert interpolation in {"LINEAR", "STEP"}, interpolation
    after = int(np.searchsorted(times, time))
    if after == 0 or after == len(times):
        return values[min(after, len(times) - 1)]
    share = (time - times[after - 1]) / (times[after] - times[after - 1]) if interpolation == "LINEAR" else 0.0
    return (1.0 - share) * values[after - 1] + share * values[after]
