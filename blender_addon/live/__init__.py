# SPDX-License-Identifier: GPL-3.0-or-later
"""The live native objects behind each mesh, and what keeps them up to date with the scene."""
