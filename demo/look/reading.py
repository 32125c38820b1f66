# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recordings made in Blender with the extension's own readers, so that they hold the core's real inputs."""

from __future__ import annotations

import time
from collections.abc import Iterator

import bpy
import numpy as np

from demo.characters import evaluated_positions
from demo.extension import activate, addon
from demo.look.liveliest import FRAMES, play_clip
from demo.look.recording import Clip, Recording


def record(character: str, meshes: list[bpy.types.Object], clips: list[str], frames: int = FRAMES) -> list[Recording]:
    """Records every mesh (without flesh) over the first `frames` of every clip. Its rest is where it stands in the first clip."""
    play_clip(meshes, clips[0], frames)
    readers = [Reader(character, obj) for obj in meshes]
    if len(readers) > 1:
        everything = np.concatenate([reader.world for reader in readers])
        for reader in readers:
            reader.recording.whole = float(np.linalg.norm(np.ptp(everything, axis=0))) * reader.place.metres_per_unit
    for clip in clips:
        played = play_clip(meshes, clip, frames)
        for reader in readers:
            reader.add(clip, played)
    return [reader.recording for reader in readers]


def add_flesh(
    meshes: list[bpy.types.Object], clips: list[str], recordings: list[Recording], frames: int = FRAMES
) -> Iterator[tuple[Recording, Clip, np.ndarray, float]]:
    """Adds flesh to the meshes with the extension's buttons at its defaults, and plays them.

    Yields (recording, clip, shown [f - 1, n, 3] in the recording's metres, seconds of the buttons) of every clip and mesh.
    """
    play_clip(meshes, clips[0], frames)
    places = {obj.name: Reader("", obj).place for obj in meshes}
    sizes = {recording.mesh: recording.size / places[recording.mesh].metres_per_unit for recording in recordings}
    for number, clip in enumerate(clips):
        played = play_clip(meshes, clip, frames)
        for obj, recording in zip(meshes, recordings, strict=True):
            activate(obj)
            started = time.perf_counter()
            if number == 0 and not (obj.thew.made.flesh or obj.thew.made.rides):  # one press takes the whole character
                bpy.ops.thew.add()
            if obj.thew.made.rides:
                recording.body = sizes[obj.thew.body.name] * places[obj.name].metres_per_unit
            else:
                bpy.ops.thew.simulate()
            seconds = time.perf_counter() - started
            place, shown = places[obj.name], []
            for frame in played:
                bpy.context.scene.frame_set(frame)
                shown.append(place.points(evaluated_positions(obj)))
            yield recording, recording.clips[number], np.array(shown), seconds


class Reader:
    """A reader that records one mesh."""

    def __init__(self, character: str, obj: bpy.types.Object) -> None:
        scene, view_layer, spaces = bpy.context.scene, bpy.context.view_layer, addon("logic.spaces")
        view_layer.update()
        self.obj = obj
        self.found = addon("scene.reading").subject(obj, view_layer)
        self.bind_pose = addon("scene.bind_pose").BindPose.read(self.found, scene)
        read = addon("scene.character").read_character(
            self.found, bpy.context.scene, bpy.context.evaluated_depsgraph_get
        )
        build_settings = addon("live.build_settings").BuildSettings.from_object(
            obj, scene, self.bind_pose.guessed_height
        )
        self.place = addon("live.building").body_place(read, self.bind_pose, build_settings)
        mesh, armature = self.bind_pose.mesh_matrix, self.bind_pose.armature_matrix
        self.world = spaces.transform(mesh, read.rest)
        mirrored = np.linalg.det(mesh[:3, :3]) < 0.0
        edges = np.empty(2 * len(obj.data.edges), np.int32)
        obj.data.edges.foreach_get("vertices", edges)
        self.recording = Recording(
            character, obj.name,
            rest=self.place.points(self.world),
            triangles=np.ascontiguousarray(read.triangles[:, ::-1] if mirrored else read.triangles),
            edges=edges.reshape(-1, 2),
            names=read.bones,
            parents=read.parents,
            heads=self.place.points(spaces.transform(armature, read.heads)),
            tails=self.place.points(spaces.transform(armature, read.tails)),
            weights=read.weights,
            elsewhere=np.array(read.bones_above(self.bind_pose.elsewhere), np.int32),
            fps=build_settings.fps,
        )  # fmt: skip

    def add(self, clip: str, frames: range) -> None:
        """Records the frames that the scene is set to, and the pose after them."""
        scene, view_layer = bpy.context.scene, bpy.context.view_layer
        parts = self.found, self.recording.names, self.bind_pose.mesh_matrix, scene, view_layer
        motion = addon("logic.tasks").finish(addon("scene.poses").read_motion(*parts, frames.start, frames.stop - 1))
        skin = []
        for frame in (*frames, frames.stop):
            scene.frame_set(frame)
            skin.append(self.place.points(evaluated_positions(self.obj)))
        maps = self.place.maps(motion.maps)
        self.recording.clips.append(Clip(clip, maps, np.array(skin, np.float32)))
