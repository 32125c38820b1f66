# SPDX-License-Identifier: GPL-3.0-or-later
"""What the artist does to a character in the 3D view: placing rigs, pulling the skin, softening parts of it."""
