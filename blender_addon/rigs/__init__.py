# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs with forces: their attachments, native counterparts, drivers, files and presets."""
