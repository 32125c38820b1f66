# SPDX-License-Identifier: GPL-3.0-or-later
"""Migration of rigs that earlier versions saved to the present layout, without loss.

Layout 0 kept samples, preferred values, weights and fixed sliders as arrays by position; layout 1 keeps them by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import bpy

from ..logic.errors import Refusal
from ..logic.sliders import SLIDERS
from .rigs import LAYOUT, ThewRig
from .samples import quiet_edits

#: Names of the places in the arrays of layout 0. They never change, even if sliders do.
VALUE_NAMES = (
    "radius", "ring_radius", "tube_radius", "strength", "along", "angle", "distance", "tilt", "depth", "roll",
    "x", "y", "z", "rx", "ry", "rz",
)  # fmt: skip

#: Paths to those numbers in drivers, and the paths that replace them.
_RIG = r"(?P<rig>thew\.rigs\[(?:\d+|\"(?:[^\"\\]|\\.)*\")\])"
_PATHS = (
    (re.compile(_RIG + r"(?P<sample>\.samples\[\d+\])\.values\[(?P<at>\d+)\]"), "{rig}{sample}.sliders.{name}"),
    (re.compile(_RIG + r"\.(?P<what>preferred|weights|fixed)\[(?P<at>\d+)\]"), "{rig}.pull.{what}.{name}"),
)


def migrate(obj: bpy.types.Object) -> bool:
    """Migrates the rigs of an object to the present layout; returns whether any needed it."""
    old = [rig for rig in obj.thew.rigs if rig.layout < LAYOUT]
    if not old or not SLIDERS:  # without the core there is nothing to move numbers to
        return False
    with quiet_edits():
        for rig in old:
            name_values(rig)
            rig.layout = LAYOUT
    update_driver_paths()
    return True


def migrate_all() -> None:
    """Migrates the rigs of every object of the file."""
    for obj in bpy.data.objects:
        migrate(obj)


def check(rig: ThewRig) -> None:
    """Refuses a rig that a later version saved: the meaning of its numbers is unknown here."""
    if rig.layout > LAYOUT:
        raise Refusal(f"The rig “{rig.name}” was saved by a later version of Thew: update Thew to use it")


def name_values(rig: ThewRig) -> None:
    """Migrates layout 0: moves numbers from arrays by position to properties by name."""
    for sample in rig.samples:
        take(sample, "values", sample.sliders)
    for name in ("preferred", "weights", "fixed"):
        take(rig, name, getattr(rig.pull, name))


def take(owner, name: str, group) -> None:
    """Moves an array into a named group; an array that the file does not have leaves the group as it is."""
    if not owner.is_property_set(name):
        return
    for slider, value in zip(VALUE_NAMES, getattr(owner, name), strict=True):
        setattr(group, slider, value)
    owner.property_unset(name)


def update_driver_paths() -> None:
    """Changes drivers that read a number by its position to read it by its name. (Keys never moved these numbers.)"""
    for curve in every_driver():
        for variable in curve.driver.variables:
            for target in variable.targets if variable.type == "SINGLE_PROP" else ():
                moved = path_by_name(target.data_path)
                if moved is not None:
                    target.data_path = moved


def every_driver() -> Iterator[bpy.types.FCurve]:
    """Yields the drivers of everything in a file, including node trees inside materials and scenes."""
    for kind in bpy.data.bl_rna.properties:
        if kind.type != "COLLECTION":
            continue
        for each in getattr(bpy.data, kind.identifier):
            for owner in (each, getattr(each, "node_tree", None), getattr(each, "shape_keys", None)):
                data = getattr(owner, "animation_data", None)
                if data is not None:
                    yield from data.drivers


def path_by_name(path: str) -> str | None:
    """Returns the path to a number of a rig by its name; None for a path that was not by position."""
    for pattern, form in _PATHS:
        match = pattern.fullmatch(path)
        if match is not None and int(match["at"]) < len(VALUE_NAMES):
            return form.format(**match.groupdict(), name=VALUE_NAMES[int(match["at"])])
    return None
