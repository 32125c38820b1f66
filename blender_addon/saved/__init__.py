# SPDX-License-Identifier: GPL-3.0-or-later
"""Data saved in the .blend, checked before use; the scene's units in metres and seconds."""
