# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels and what is drawn into the 3D view."""
