# SPDX-License-Identifier: GPL-3.0-or-later
"""The only places that touch meshes, armatures, keys and modifiers of Blender."""
