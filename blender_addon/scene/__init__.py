# SPDX-License-Identifier: GPL-3.0-or-later
"""Access to Blender's meshes, armatures, keys and modifiers; no other package touches them."""
