# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of the extension in Blender's own window, for the documentation."""
