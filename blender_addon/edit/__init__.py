# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of a character in the 3D view: placing rigs, pulling the skin, softening parts of it."""
