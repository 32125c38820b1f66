# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the extension independent of Blender: plain Python and numpy, testable anywhere."""
