# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of a character in the 3D view: rigs, pulled and dragged skin, softness, limbs, and keyframed flesh."""
