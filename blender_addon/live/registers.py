# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of each kind that Thew moves, and the state of each between two frames. This state is never saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import bpy

from ..saved import overrides
from ..scene import reading

Life = TypeVar("Life")


def is_alive(obj: bpy.types.Object) -> bool:
    """Returns whether a stored reference still leads to an object."""
    try:
        return obj.session_uid != 0
    except ReferenceError:
        return False


class Register(Generic[Life]):
    """Objects of one kind that can be changed from this file, found again after every load, undo, and change of their number."""

    def __init__(self, make: Callable[[], Life], belongs: Callable[[bpy.types.Object], bool]) -> None:
        self.make, self.belongs = make, belongs
        self._lives: dict[int, Life] = {}  # by the object's session id
        self._objects: list[bpy.types.Object] | None = None
        self._scenes: dict[int, list[bpy.types.Object]] = {}  # those of each scene, by its session id
        self._count = -1
        REGISTERS.append(self)

    def state_of(self, obj: bpy.types.Object) -> Life:
        """Returns the state of an object; a new one where none is known."""
        if obj.session_uid not in self._lives:
            self._lives[obj.session_uid] = self.make()
        return self._lives[obj.session_uid]

    def known_state(self, obj: bpy.types.Object) -> Life | None:
        """Returns the state of an object, or None where none is known."""
        return self._lives.get(obj.session_uid)

    def keep(self, obj: bpy.types.Object, life: Life) -> None:
        """Stores the state of an object, which may be new in the file."""
        self._lives[obj.session_uid] = life
        self.look_again()

    def forget(self, obj: bpy.types.Object) -> None:
        """Drops the state of an object."""
        self._lives.pop(obj.session_uid, None)
        self.look_again()

    def clear(self) -> None:
        """Drops everything, as when another file is loaded."""
        self._lives.clear()
        self.look_again()

    def look_again(self) -> None:
        """Drops references to objects; the next query finds them again."""
        self._objects = None

    def all_objects(self) -> list[bpy.types.Object]:
        """Returns the objects of the file."""
        kept = self._objects
        # The count alone misses an object that was deleted while another was made.
        if kept is None or self._count != len(bpy.data.objects) or not all(map(is_alive, kept)):
            self._count, self._scenes = len(bpy.data.objects), {}
            overrides.follow_all()
            self._objects = kept = [
                obj for obj in bpy.data.objects if obj.type == "MESH" and self.belongs(obj) and reading.is_own(obj)
            ]
        return kept

    def objects(self, scene: bpy.types.Scene) -> list[bpy.types.Object]:
        """Returns the objects of a scene."""
        found = self.all_objects()
        if found and scene.session_uid not in self._scenes:
            self._scenes[scene.session_uid] = [obj for obj in found if reading.is_in(obj, scene.objects)]
        return self._scenes.get(scene.session_uid, [])


#: Register of each kind of object.
REGISTERS: list[Register] = []


def look_again() -> None:
    """Makes all registers find their objects again."""
    for each in REGISTERS:
        each.look_again()


def forget(obj: bpy.types.Object) -> None:
    """Drops the state of an object in every register."""
    for each in REGISTERS:
        each.forget(obj)


def clear() -> None:
    """Empties all registers."""
    for each in REGISTERS:
        each.clear()
