# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs with forces: what they hang on, their native counterparts, drivers, files and ready ones."""
