# SPDX-License-Identifier: GPL-3.0-or-later
"""Colour attributes of meshes, as vertex paint has them."""

from __future__ import annotations

import bpy
import numpy as np


def write_colours(mesh: bpy.types.Mesh, name: str, colours: np.ndarray) -> None:
    """Writes colours [n, 3] into a colour attribute of the vertices, made if missing, and makes it the active one."""
    found = mesh.color_attributes.get(name)
    if found is not None and (found.domain, found.data_type) != ("POINT", "FLOAT_COLOR"):
        mesh.color_attributes.remove(found)
        found = None
    if found is None:
        found = mesh.color_attributes.new(name, "FLOAT_COLOR", "POINT")
    four = np.ones((len(colours), 4), np.float32)
    four[:, :3] = colours
    found.data.foreach_set("color", four.ravel())
    mesh.color_attributes.active_color = mesh.color_attributes[name]
    mesh.update_tag()
