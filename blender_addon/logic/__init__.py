# SPDX-License-Identifier: GPL-3.0-or-later
"""The half of the extension that knows nothing of Blender: plain Python and numpy, testable anywhere."""
