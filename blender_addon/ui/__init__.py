# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels and overlays of the 3D view."""
